// What a look at the heap of glibc's malloc has found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/memory/block_ranks.h"

namespace heaptape {

enum class HeapProblemKind : std::uint8_t {
  ChunkSize,       // in a header: a size that the chunk cannot have
  PreviousSize,    // behind a free chunk: not its size
  InUseFlag,       // in a header: the chunk before is free, it says, but a live block of the tape lies there
  FreeNeighbours,  // two free chunks side by side: they would have been joined
  LiveBlockIsFree, // a list of free chunks has one with a live block of the tape
  ListLink,        // a list leads to where there is no chunk, or not back
  ListSize,        // in a header: another size than that of the list in which the chunk is
  ListLength,      // a list that is shorter or longer than counted
  FreedTwice,      // a chunk that is twice in lists of free chunks
  NotInList,       // a free chunk that is in no list
};

struct HeapProblem {
  HeapProblemKind kind{};
  std::uint64_t chunk = 0; // that it is about
  std::uint64_t place = 0; // of the word that is wrong
  std::uint64_t value = 0; // what is there
  bool in_free_memory =
      false; // the word lies in memory that a block had until it was released; else in a header or a table
  // The last live block that begins before the word; BlockRanks::kNone: none.
  std::uint32_t block_before = BlockRanks::kNone;
  // The live block whose own header the word is; BlockRanks::kNone: none.
  std::uint32_t block_behind = BlockRanks::kNone;
};

struct ChunkSum {
  std::uint64_t chunks = 0, bytes = 0; // headers included

  void add(std::uint64_t size) { ++chunks, bytes += size; }
  ChunkSum& operator+=(const ChunkSum& other) {
    chunks += other.chunks, bytes += other.bytes;
    return *this;
  }
};

enum class HeapPartState : std::uint8_t {
  Sound,
  Damaged,
  Changing,  // things do not fit together, but a thread was changing them just then
  NotWalked, // what could be seen is sound, but not all chunks could be seen
};

struct ArenaCheck {
  std::uint64_t address = 0;
  bool main = false;
  HeapPartState state{};
  ChunkSum blocks{};             // in which live blocks of the tape lie
  std::uint64_t block_bytes = 0; // of these blocks, as the program asked for them
  ChunkSum others{}; // in use, not free for their neighbours: those in caches and fast bins, and the allocator's own
  ChunkSum bins{}, fast_bins{};   // free
  std::uint64_t top_bytes = 0;    // free, at the end
  std::uint64_t largest_free = 0; // of the chunks in bins
  std::uint64_t system_bytes = 0;
  std::uint32_t used_bins = 0;
  std::uint64_t problems = 0;

  std::uint64_t chunks() const { return blocks.chunks + others.chunks + bins.chunks; }
};

struct CacheCheck {
  std::uint32_t thread = 0; // number in GlibcFacts::threads
  HeapPartState state{};
  bool found = false;
  ChunkSum free{};
  std::uint64_t problems = 0;
};

struct HeapCheck {
  std::vector<ArenaCheck> arenas{}; // the main one first
  std::vector<CacheCheck> caches{};
  ChunkSum mapped{}; // blocks that have a mapping of their own
  std::uint64_t mapped_block_bytes = 0;
  ChunkSum elsewhere{};     // live blocks that are neither in an arena nor in a mapping of their own; their own bytes
  std::uint64_t unseen = 0; // words that were looked for in vain: what the memory held there is not known
  std::vector<HeapProblem> problems{}; // by address; at most kMostProblems
  static constexpr std::size_t kMostProblems = 100;
};

} // namespace heaptape
