// The chunks of glibc's malloc, one after the other. Private to glibc_heap.cpp and glibc_lists.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/memory/glibc_check.h"
#include "analysis/memory/memory_image.h"

namespace heaptape {

inline constexpr std::uint64_t kChunkHeader = 16, kLeastChunk = 32, kChunkFlags = 7, kChunkMapped = 2;

struct GlibcChunk {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t head = 0; // size and flags, as they are there

  bool previous_in_use() const { return (head & 1) != 0; }
  bool has_usual_size() const { return size >= kLeastChunk && size % 16 == 0; }
};

struct ListMember {
  std::uint64_t chunk = 0;
  std::uint64_t list = 0; // where the list begins
};

// Reads, and collects what is wrong. One thread at a time.
class ChunkReader {
public:
  // `in_flight`: blocks that may be released or have another size by now; without `all_known` that may be true of any block.
  ChunkReader(const MemoryImage& image, const BlockRanks& ranks, std::span<const std::uint64_t> in_flight,
              bool all_known);

  std::optional<std::uint64_t> word(std::uint64_t address) { return cursor_.word(address); }
  // nullopt: not captured; or so much was read already that chunks must overlap.
  std::optional<GlibcChunk> chunk(std::uint64_t address);
  // There is memory at this address, but what it held is not known. Counted in `unseen`.
  bool cannot_see(std::uint64_t address);
  std::uint64_t unseen = 0;
  const BlockRanks& ranks() const { return ranks_; }
  // A live block begins here for certain.
  bool is_live(std::uint64_t address) const;

  void report(HeapProblem problem);
  bool is_full() const { return problems.size() >= HeapCheck::kMostProblems; }
  std::vector<HeapProblem> problems{};

  // From `begin`, where a chunk is, to `end`; `top` is the last one's address if it is in there. Adds the free ones to free_chunks.
  // False: it did not come to the end without a gap.
  bool walk(std::uint64_t begin, std::uint64_t end, std::uint64_t top, ArenaCheck& arena);

  // Known by their neighbours to be free; all arenas, by address once sort_free() was called.
  std::vector<GlibcChunk> free_chunks{};
  void sort_free();
  bool is_free(std::uint64_t address) const;
  // What the lists have, in order.
  std::vector<ListMember> members{};
  static constexpr std::size_t kMostMembers = std::size_t{1} << 24;
  // Links are mixed with their own place, since 2.32; nullopt: not known, for there are none.
  std::optional<bool> mixed_links{};
  // Where chunks were walked.
  struct Span {
    std::uint64_t begin, end;
  };
  std::vector<Span> walked{};

private:
  bool fits(const GlibcChunk& chunk, std::uint64_t end, std::uint32_t next_block, bool has_block) const;
  void check_free(const GlibcChunk& chunk, bool behind_free);
  bool end_at_top(const GlibcChunk& top, std::uint64_t end, ArenaCheck& arena);

  MemoryCursor cursor_;
  const BlockRanks& ranks_;
  std::vector<std::uint64_t> in_flight_; // by address
  const bool all_known_;
  std::uint64_t most_reads_;
};

} // namespace heaptape
