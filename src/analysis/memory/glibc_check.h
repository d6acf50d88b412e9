// What a look at the heap of glibc's malloc has found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/memory/block_ranks.h"

namespace heaptape {

enum class HeapProblemKind : std::uint8_t {
  ChunkSize,       // a size that no chunk can have: something has written over it
  PreviousSize,    // a free chunk's size and what the next one says about it differ
  FreeNeighbours,  // two free chunks side by side: they would have been joined
  LiveBlockIsFree, // on the tape the block is live, for the allocator it is free
  LiveBlockTooBig, // it does not fit into its chunk
  ListLink,        // a list leads to where there is no chunk, or not back
  ListSize,        // a chunk of another size than its list
  ListLength,      // a list that does not end, or with another length than counted
};

struct HeapProblem {
  HeapProblemKind kind{};
  std::uint64_t address = 0; // of the chunk; of lists where the link lies
  std::uint64_t value = 0;   // what was found there
  // The last live block before it, which may have been written beyond its end; BlockRanks::kNone: none.
  std::uint32_t block_before = BlockRanks::kNone;
};

struct ArenaCheck {
  std::uint64_t address = 0;
  bool main = false;
  bool locked = false; // and so not looked at
  bool walked = false; // from the first chunk to the last; false also when it is not known where they begin
  std::uint64_t chunks = 0, free_chunks = 0, in_bins = 0, in_fast_bins = 0;
  std::uint32_t bins = 0; // that are not empty
};
struct CacheCheck {
  std::uint32_t thread = 0; // number in GlibcFacts::threads
  bool busy = false;        // and so not looked at
  std::uint64_t chunks = 0;
};

struct HeapCheck {
  std::vector<ArenaCheck> arenas{}; // the main one first
  std::vector<CacheCheck> caches{};
  std::vector<HeapProblem> problems{}; // at most kMostProblems
  static constexpr std::size_t kMostProblems = 100;
};

} // namespace heaptape
