// What the program's address space looked like at a moment: what the kernel said last, brought up to the moment by the events.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/heap_state.h"
#include "base/ids.h"
#include "tape/reader.h"

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
// How the names of ranges begin that are the recorder's own.
inline constexpr std::string_view kRecorderMemory = "/memfd:heaptape";

struct SpaceRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t committed = 0; // bytes that can be accessed at all; of a ThreadArena the part that is opened
  RangeKind kind = RangeKind::Anonymous;
  std::uint32_t name = 0;  // number in AddressSpace::names; 0: none. A path, "[heap]", ...
  ThreadId thread{};       // ThreadStack and MainStack: whose, or who had it last; 0: not known
  std::uint64_t event = 0; // that mapped it, when the program did so itself; 0: not known
  std::array<char, 4> permissions{'-', '-', '-', 'p'}; // as in /proc/PID/maps; of the first piece that can be accessed

  std::uint64_t bytes() const { return end - begin; }
};

struct AddressSpace {
  std::vector<SpaceRange> ranges{}; // by address, not overlapping
  std::vector<std::string> names{}; // [0] is ""
  std::uint64_t maps_us = 0;        // the moment at which the kernel was asked
  bool from_kernel = false; // false: the tape has no MAPS, all is guessed from modules, mapping events and live blocks

  // The range that holds this address, or nullptr.
  const SpaceRange* find(std::uint64_t address) const;
  // The first range that ends above this address, or one past the last.
  std::size_t first_above(std::uint64_t address) const;
};

// Rests on the last moment of MAPS up to the state's time (or the first one after it) and on the mapping events since then. Every live
// block lies in a range: where the kernel was asked too early to show it, the next moment says what is there, or else the blocks
// themselves. Takes some ms, and about 0.1 s for a million live blocks.
AddressSpace address_space_at(const TapeReader& tape, const HeapState& state);

} // namespace heaptape
