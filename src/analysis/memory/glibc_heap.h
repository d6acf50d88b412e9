// Is the heap of glibc's malloc sound? Reads chunks, bins and the caches of threads in a snapshot, as the allocator itself would.
//
//   chunk    +0 size of the one before, if that is free   +8 own size | 1 the one before is in use | 2 own mapping | 4 not main arena
//            +16 what malloc returned; in a free chunk links of its list (forward, back)
//
// glibc 2.26 to 2.41, 64 bit. An arena whose lock is taken was being changed and is not looked at; nor is the cache of a thread that was
// in the allocator's code, nor anything when that was the only thread, for then no lock is needed.
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
  std::span<const ThreadState> threads{};
  std::uint64_t static_tls = 1664;                           // as in RootFacts
  std::function<bool(std::uint64_t pc)> is_allocator_code{}; // malloc, free and their like; not all of the C library
};

HeapCheck check_glibc_heap(const MemoryImage& image, const BlockRanks& ranks, const GlibcFacts& facts);

} // namespace heaptape
