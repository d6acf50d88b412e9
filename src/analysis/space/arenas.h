// How well the allocator uses its memory at a moment: by arena, what is in use, what it took from the kernel, and what
// lies between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/heap/allocator_code.h"
#include "analysis/heap/cost.h"
#include "analysis/heap/heap_state.h"
#include "analysis/space/address_space.h"
#include "base/ids.h"
#include "tape/reader.h"

namespace heaptape {

// Whose malloc it is, by the modules of the program.
Allocator allocator_of(const std::vector<Module>& modules);

enum class ArenaKind : std::uint8_t {
  Main,        // the heap that brk moves
  Thread,      // another arena of glibc: one or more heaps of 64 MiB
  LargeBlocks, // blocks with a mapping of their own
  Regions,     // all that another allocator got from the kernel by mmap
  Elsewhere,   // blocks in memory that is none of these: a module's, a file's, a mapping of the program's own
};

// A page with fewer live bytes than this is held by little.
inline constexpr std::uint64_t kLittle = 64;

struct ArenaThread {
  ThreadId thread{};
  Cost live{};            // blocks here that the thread made
  std::uint64_t last = 0; // the event that made the latest of them
  bool home = false;      // the thread's latest block of all, large ones apart, lies here: this is the arena it uses
};

struct Arena {
  ArenaKind kind = ArenaKind::Elsewhere;
  std::vector<std::size_t> ranges{}; // numbers in AddressSpace::ranges, by address
  Cost live{};
  std::uint64_t committed = 0; // bytes that can be accessed; of LargeBlocks the pages of the blocks, of Elsewhere 0
  std::uint64_t reserved = 0;  // bytes of address space; of these two as committed
  // From the first live byte of a range to its last, over all ranges; of these two as committed.
  std::uint64_t span = 0;
  std::uint64_t largest_gap = 0; // bytes between two neighbours in one range
  std::uint64_t gap_begin = 0;
  std::uint64_t pages = 0;            // of 4096 bytes that hold a live block or a part of one
  std::uint64_t little_pages = 0;     // of those, held by less than kLittle bytes
  std::vector<ArenaThread> threads{}; // most live bytes first

  // The part of the span that is not in use.
  double fragmentation() const {
    return span == 0 ? 0 : 1 - static_cast<double>(live.bytes) / static_cast<double>(span);
  }
};

// The main heap first, then arenas by address, then the rest; each kind but Thread at most once. Those of glibc are
// there also when nothing in them is live. `space` is that of the same state. Sorts the live blocks: some 0.2 s for a
// million.
std::vector<Arena> arenas_at(const TapeReader& tape, const HeapState& state, const AddressSpace& space);

// What is live in each range of the space; a block counts where it begins.
std::vector<Cost> live_by_range(const HeapState& state, const AddressSpace& space);

} // namespace heaptape
