// The collector's side of heaptape_where(): the program leaves an address in shared memory and sleeps; another process
// of ours reads the tape and works out the answer, while the collector goes on. Nothing is asked of the program's
// allocator, locks or descriptors, so it works wherever a debugger has stopped it. One thread at a time.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "collector/rings/shared_memory.h"

namespace heaptape {

class WhereDesk {
public:
  // `command` TAPE ADDRESS prints the answer and ends with status 0 when the address is in a block, 1 when it is not.
  // Empty: nobody can answer here. The memory must outlive the desk.
  WhereDesk(const SharedMemory& memory, std::vector<std::string> command);
  ~WhereDesk();
  WhereDesk(const WhereDesk&) = delete;
  WhereDesk& operator=(const WhereDesk&) = delete;

  // The program has a question. Cheap enough for every round.
  bool asked() const {
    return memory_.header().question.load(std::memory_order_acquire) == // pairs with the recorder's asking
           static_cast<std::uint32_t>(wire::Question::Asked);
  }
  // Starts on the answer; everything that has happened must be on the tape.
  void begin(const std::string& tape);
  bool working() const { return child_ > 0; }
  // Hands the answer over if it is ready.
  void go_on();
  // The recording is over: questions still open are answered with that.
  void close();

private:
  void answer(std::string_view text, bool found);
  void drop_child();

  const SharedMemory& memory_;
  std::vector<std::string> command_;
  pid_t child_ = 0;
  UniqueFd output_; // a file in memory
};

} // namespace heaptape
