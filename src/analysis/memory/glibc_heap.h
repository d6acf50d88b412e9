// Is the heap of glibc's malloc sound? Reads chunks, bins and the caches of threads in a snapshot, as the allocator itself would, and
// compares them with the blocks that the tape calls live.
//
//   chunk    +0 size of the one before, if that is free   +8 own size | 1 the one before is in use | 2 own mapping | 4 not main arena
//            +16 what malloc returned; in a free chunk links of its list (forward, back)
//
// glibc 2.26 to 2.41, 64 bit. While a thread changes an arena or its cache, things in there need not fit together: then they count for nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "analysis/memory/block_ranks.h"
#include "analysis/memory/glibc_check.h"
#include "analysis/memory/memory_image.h"
#include "tape/memory_snapshot.h"

namespace heaptape {

struct GlibcFacts {
  std::uint64_t main_arena = 0; // its address; see find_main_arena()
  std::uint64_t heap_begin = 0; // of the heap that brk moves; 0: not known
  std::uint64_t heap_end = 0;
  std::span<const ThreadState> threads{};
  std::uint64_t static_tls = 1664; // as in RootFacts
  // Whether the thread may be in malloc, free and their like; not set: none is.
  std::function<bool(const ThreadState&)> may_be_allocating{};
  std::span<const std::uint64_t> in_flight{}; // blocks that a realloc was moving
  bool all_blocks_known = true;               // the tape has all events: a block that it calls live is
};

HeapCheck check_glibc_heap(const MemoryImage& image, const BlockRanks& ranks, const GlibcFacts& facts);

} // namespace heaptape
