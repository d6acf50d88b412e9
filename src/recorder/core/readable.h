// Which stack memory may be read. A capture must never fault, whatever a frame claims about its caller.
#pragma once

#include <cstdint>

namespace heaptape::recorder {

// Set when the program has put a seccomp filter on itself: from then on we make no system call it might forbid.
void enter_sandbox() noexcept;
[[nodiscard]] bool in_sandbox() noexcept;

// Asks the kernel whether the page of `address` can be read. False in a sandbox.
[[nodiscard]] bool page_is_readable(std::uint64_t address) noexcept;

// A run of readable memory, [low, high), page aligned below.
struct Range {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  bool holds(std::uint64_t address) const noexcept { return address - low < high - low; }
};

// A thread's stack, as far as it has been seen to be readable, and the last other stack it ran on (coroutine, alternate
// signal stack). Belongs to one thread.
class StackMemory {
public:
  // `top` is one past the highest address a frame of this thread can have, `reach` how far below it the stack may grow.
  void start(std::uint64_t top, std::uint64_t reach) noexcept;

  bool on_own_stack(std::uint64_t slot) const noexcept { return own_.holds(slot); }
  // The stack that `slot`, an address the thread is standing on, lies in; found out once per page.
  Range& around(std::uint64_t slot) noexcept;
  // Makes `range` reach up to `address` if the memory between is readable.
  bool extend_up(Range& range, std::uint64_t address) noexcept;
  const Range& own() const noexcept { return own_; }
  // Takes over what a copy has found out about the thread's own stack. One store, so an interrupted reader is not disturbed.
  void learn(const StackMemory& copy) noexcept {
    if (copy.own_.low < own_.low) own_.low = copy.own_.low;
  }

private:
  bool extend_own_down(std::uint64_t slot) noexcept;

  Range own_;
  Range other_;
  std::uint64_t reach_ = 0;
};

} // namespace heaptape::recorder
