// How far a long task is, in one line on standard error that is redrawn in place. Only on a terminal, and only when the
// task takes long enough to wonder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heaptape::cli {

class ProgressLine {
public:
  // `task` begins the line: "heaptape: indexing  42 %".
  explicit ProgressLine(std::string task);
  ~ProgressLine(); // removes the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Cheap to call often. `what` is shown behind the percentage, if it is not empty.
  void show(std::uint64_t done, std::uint64_t all, std::string_view what = {});

private:
  std::string task_;
  bool terminal_;
  bool drawn_ = false;
  std::uint64_t next_ns_;
};

} // namespace heaptape::cli
