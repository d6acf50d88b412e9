// A stop ends some blocking calls of the program with EINTR, although no signal has come (signal(7)). They have done nothing by then and are made
// again, so that the program notices nothing. The kernel begins them with their whole time limit: what has passed since the first stop is counted
// here, or a program that is stopped again and again would wait for ever.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "tape/memory_snapshot.h"

namespace heaptape {

class RepeatedCalls {
public:
  using Registers = decltype(ThreadState::registers);

  // Before the thread goes on, which stands still and was stopped this often since the last time. True: its registers are others now.
  bool repeat(pid_t pid, pid_t tid, unsigned stops, Registers& registers);

private:
  // Of one that was repeated.
  struct Begun {
    Registers registers{};
    std::uint64_t switches = 0; // of the thread, to rest
    std::uint64_t first_stop_ns = 0;
    std::uint64_t limit_ns = 0;
  };
  bool is_the_same(const Begun& begun, const Registers& registers, std::uint64_t switches, unsigned stops) const;

  std::map<pid_t, Begun> begun_; // by thread
};

} // namespace heaptape
