// The live view of `record --top`: a process of its own, which has the terminal while the program runs.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace heaptape::cli {

class TopBeside {
public:
  // Starts the process, which waits for a tape; an error when the program would write to the same terminal. From here
  // on our standard input, and so the program's, is empty if it was the terminal. Call it while the process has one
  // thread.
  static Result<TopBeside> begin();

  TopBeside(TopBeside&& other) noexcept;
  TopBeside& operator=(TopBeside&&) = delete;
  // Waits until the view has seen the end of the recording, or the user has left it.
  ~TopBeside();

  void show(const std::string& tape);

private:
  TopBeside(pid_t pid, UniqueFd pipe) : pid_(pid), pipe_(std::move(pipe)) {}

  pid_t pid_ = -1;
  UniqueFd pipe_;
};

} // namespace heaptape::cli
