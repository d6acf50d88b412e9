#include "analysis/memory/glibc_chunks.h"

#include <algorithm>

namespace heaptape {

ChunkReader::ChunkReader(const MemoryImage& image, const BlockRanks& ranks, std::span<const std::uint64_t> in_flight,
                         bool all_known)
    : cursor_(image), ranks_(ranks), in_flight_(in_flight.begin(), in_flight.end()), all_known_(all_known),
      most_reads_(image.stored_bytes() / kChunkHeader * 4 + (1 << 20)) {
  std::sort(in_flight_.begin(), in_flight_.end());
}

std::optional<GlibcChunk> ChunkReader::chunk(std::uint64_t address) {
  if (most_reads_ == 0) return std::nullopt;
  --most_reads_;
  const auto head = cursor_.word(address + 8);
  if (!head) return std::nullopt;
  return GlibcChunk{address, *head & ~kChunkFlags, *head};
}

bool ChunkReader::cannot_see(std::uint64_t address) {
  const bool is_hidden = !cursor_.word(address) && cursor_.state_at(address) != MemoryState::None;
  unseen += is_hidden;
  return is_hidden;
}

bool ChunkReader::is_live(std::uint64_t address) const {
  if (!all_known_ || std::binary_search(in_flight_.begin(), in_flight_.end(), address)) return false;
  const std::uint32_t block = ranks_.find(address);
  return block != BlockRanks::kNone && ranks_.begin(block) == address;
}

void ChunkReader::report(HeapProblem problem) {
  if (is_full()) return;
  const std::uint32_t behind = ranks_.first_from(problem.place);
  if (behind != 0) problem.block_before = behind - 1;
  if (!problem.in_free_memory && behind < ranks_.size() && ranks_.begin(behind) - problem.place <= kChunkHeader)
    problem.block_behind = behind;
  problems.push_back(problem);
}

// Whether the chunk can have its size, with the block that lies in it and the one that comes next.
bool ChunkReader::fits(const GlibcChunk& chunk, std::uint64_t end, std::uint32_t next_block, bool has_block) const {
  if (!chunk.has_usual_size() || chunk.size > end - chunk.address) return false;
  if (!all_known_) return true;
  if (has_block && ranks_.bytes(next_block - 1) > chunk.size - 8 && // a block may use the next one's first word
      is_live(ranks_.begin(next_block - 1)))
    return false;
  if (next_block == ranks_.size() || ranks_.begin(next_block) >= chunk.address + chunk.size + kChunkHeader) return true;
  return !is_live(ranks_.begin(next_block));
}

// What the allocator itself demands of the last chunk.
bool ChunkReader::end_at_top(const GlibcChunk& top, std::uint64_t end, ArenaCheck& arena) {
  const bool is_sound = top.size >= kLeastChunk && top.previous_in_use() && top.size <= end - top.address &&
                        (top.address + top.size) % kPageBytes == 0;
  if (is_sound)
    arena.top_bytes = top.size;
  else
    report({.kind = HeapProblemKind::ChunkSize, .chunk = top.address, .place = top.address + 8, .value = top.head});
  return is_sound;
}

void ChunkReader::check_free(const GlibcChunk& chunk, bool behind_free) {
  const std::uint64_t behind = chunk.address + chunk.size;
  if (const auto told = cursor_.word(behind); told && *told != chunk.size)
    report({.kind = HeapProblemKind::PreviousSize,
            .chunk = chunk.address,
            .place = behind,
            .value = *told,
            .in_free_memory = true});
  if (behind_free)
    report({.kind = HeapProblemKind::FreeNeighbours,
            .chunk = chunk.address,
            .place = chunk.address + 8,
            .value = chunk.head});
}

bool ChunkReader::walk(std::uint64_t begin, std::uint64_t end, std::uint64_t top, ArenaCheck& arena) {
  bool whole = true, last_was_free = false, behind_post = false;
  std::uint32_t block = ranks_.first_from(begin); // the next one
  std::optional<GlibcChunk> next;
  walked.push_back({begin, end});
  // Each step goes on by at least a header.
  for (std::uint64_t at = begin; at < end && !is_full();) {
    const std::optional<GlibcChunk> here = next && next->address == at ? next : chunk(at);
    if (!here) { // not captured
      whole = last_was_free = behind_post = false;
      while (block < ranks_.size() && ranks_.begin(block) <= at + kChunkHeader) ++block;
      if (block == ranks_.size() || ranks_.begin(block) >= end) return false;
      at = ranks_.begin(block) - kChunkHeader;
      continue;
    }
    if (at == top) return end_at_top(*here, end, arena) && whole;
    if (here->size == 0 && behind_post) return whole; // the very end of a heap that others follow
    if (here->size == kChunkHeader) {                 // a post in front of memory that is not malloc's
      behind_post = true;
      at += kChunkHeader;
      continue;
    }
    while (block < ranks_.size() && ranks_.begin(block) < at + kChunkHeader) ++block;
    const bool has_block = block < ranks_.size() && ranks_.begin(block) == at + kChunkHeader;
    const std::uint32_t next_block = has_block ? block + 1 : block;
    if (!fits(*here, end, next_block, has_block)) {
      if (!behind_post) report({.kind = HeapProblemKind::ChunkSize, .chunk = at, .place = at + 8, .value = here->head});
      // Where the next one begins is not known, but the next live block has one.
      whole = last_was_free = behind_post = false;
      if (next_block == ranks_.size() || ranks_.begin(next_block) >= end) return false;
      at = std::max(at + kChunkHeader, ranks_.begin(next_block) - kChunkHeader);
      continue;
    }
    behind_post = false;
    const std::uint64_t behind = at + here->size;
    next = behind < end ? chunk(behind) : std::nullopt;
    bool free = next && !next->previous_in_use();
    if (free && has_block && is_live(ranks_.begin(block))) {
      report({.kind = HeapProblemKind::InUseFlag, .chunk = behind, .place = behind + 8, .value = next->head});
      free = false;
    }
    if (free) {
      arena.bins.add(here->size);
      arena.largest_free = std::max(arena.largest_free, here->size);
      free_chunks.push_back(*here);
      check_free(*here, last_was_free);
    } else if (has_block) {
      arena.blocks.add(here->size);
      arena.block_bytes += ranks_.bytes(block);
    } else {
      arena.others.add(here->size);
    }
    last_was_free = free;
    at = behind;
  }
  return whole && !is_full();
}

void ChunkReader::sort_free() {
  std::sort(free_chunks.begin(), free_chunks.end(),
            [](const GlibcChunk& a, const GlibcChunk& b) { return a.address < b.address; });
}

bool ChunkReader::is_free(std::uint64_t address) const {
  const auto found =
      std::lower_bound(free_chunks.begin(), free_chunks.end(), address,
                       [](const GlibcChunk& chunk, std::uint64_t value) { return chunk.address < value; });
  return found != free_chunks.end() && found->address == address;
}

} // namespace heaptape
