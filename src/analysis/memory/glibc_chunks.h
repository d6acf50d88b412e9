// The chunks of glibc's malloc, one after the other. Private to glibc_heap.cpp and glibc_lists.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/memory/glibc_check.h"
#include "analysis/memory/memory_image.h"

namespace heaptape {

inline constexpr std::uint64_t kChunkHeader = 16, kLeastChunk = 32, kChunkFlags = 7;

struct GlibcChunk {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  bool previous_in_use = false;
};

// Reads, and collects what is wrong. One thread at a time.
class ChunkReader {
public:
  ChunkReader(const MemoryImage& image, const BlockRanks& ranks, HeapCheck& check)
      : cursor_(image), ranks_(ranks), check_(check), most_reads_(image.stored_bytes() / kChunkHeader + (1 << 20)) {}

  std::optional<std::uint64_t> word(std::uint64_t address) { return cursor_.word(address); }
  // nullopt: not captured; or so much was read already that chunks must overlap.
  std::optional<GlibcChunk> chunk(std::uint64_t address);
  void report(HeapProblemKind kind, std::uint64_t address, std::uint64_t value);
  bool is_full() const { return check_.problems.size() >= HeapCheck::kMostProblems; }
  const BlockRanks& ranks() const { return ranks_; }

  // From `begin`, where a chunk is, to `end`; `top` is the last one's address if it is in there. Adds the free ones to free_chunks().
  // False: it did not come to the end without a gap.
  bool walk(std::uint64_t begin, std::uint64_t end, std::uint64_t top, ArenaCheck& arena);

  // Known by their neighbours to be free; all arenas, by address once sort_free() was called.
  std::vector<GlibcChunk> free_chunks{};
  void sort_free();
  bool is_free(std::uint64_t address) const;

private:
  void check_block(const GlibcChunk& chunk, bool free);

  MemoryCursor cursor_;
  const BlockRanks& ranks_;
  HeapCheck& check_;
  std::uint64_t most_reads_;
};

} // namespace heaptape
