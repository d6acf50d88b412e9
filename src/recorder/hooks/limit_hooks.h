// The limits on a process's memory that count what the recorder holds: RLIMIT_AS all of its address space, RLIMIT_DATA what is
// private and writable. A program that sets one of them means its own memory, so the kernel is given a limit that is higher by
// what the recorder holds, and the program reads back what it has set.
//
//   setrlimit(RLIMIT_AS, 1 GB)  ->  kernel: 3.6 GB  ->  getrlimit(RLIMIT_AS): 1 GB
//
// A limit that the program has inherited is left and shown as it is; the recorder makes itself small under it.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace heaptape::recorder {

// What the recorder holds from now on.
void note_held_memory(std::uint64_t shared_bytes, std::uint64_t private_bytes) noexcept;

// Whether one of the kernel's limits is higher than the program believes.
[[nodiscard]] bool limits_are_raised() noexcept;

// While it lives, the kernel's limits are what the program believes: for the program that this process is about to become, which has
// no recorder in it, or one that fits itself in. Where that fails, they are raised again as far as the kernel allows.
class LimitsForNextProgram {
public:
  explicit LimitsForNextProgram(bool will_run) noexcept;
  ~LimitsForNextProgram() noexcept;
  LimitsForNextProgram(const LimitsForNextProgram&) = delete;
  LimitsForNextProgram& operator=(const LimitsForNextProgram&) = delete;

private:
  static constexpr std::size_t kLimits = 2;
  bool lowered_[kLimits] = {};
  rlimit before_[kLimits] = {};
};

// The same for a program that was started.
void lower_limits_of(pid_t child) noexcept;

} // namespace heaptape::recorder
