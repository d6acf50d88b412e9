// A range of the address space and what it is for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "analysis/heap/recorder_memory.h"
#include "base/ids.h"

namespace heaptape {

enum class RangeKind : std::uint8_t {
  MainHeap,    // what brk moves, "[heap]"
  ThreadArena, // a heap of another arena of glibc: 64 MiB, aligned, opened from its beginning as it is needed
  Anonymous,   // any other memory without a file; large blocks of malloc lie in such
  File,        // a file, a memfd, shared memory, a device
  Module,      // a program's or library's, its zeroed part included
  MainStack,
  ThreadStack, // with the guard below it; maybe that of a thread which has ended and left it for the next
  Special,     // the kernel's own (vdso, vvar), and the recorder's
};
inline constexpr std::size_t kRangeKinds = 8;

struct SpaceRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t committed = 0; // bytes that can be accessed at all; of a ThreadArena the part that is opened
  RangeKind kind = RangeKind::Anonymous;
  std::uint32_t name = 0;  // number in AddressSpace::names; 0: none. A path, "[heap]", ...
  ThreadId thread{};       // ThreadStack and MainStack: its thread, or the last one that had it; 0: not known
  std::uint64_t event = 0; // that mapped it, when the program did so itself; 0: not known
  std::array<char, 4> permissions{'-', '-', '-', 'p'}; // as in /proc/PID/maps; of the first piece that can be
                                                       // accessed; '?': the kernel never showed it

  std::uint64_t bytes() const { return end - begin; }
};

} // namespace heaptape
