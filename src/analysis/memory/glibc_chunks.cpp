#include "analysis/memory/glibc_chunks.h"

#include <algorithm>

namespace heaptape {

std::optional<GlibcChunk> ChunkReader::chunk(std::uint64_t address) {
  if (most_reads_ == 0) return std::nullopt;
  --most_reads_;
  const auto size = cursor_.word(address + 8);
  if (!size) return std::nullopt;
  return GlibcChunk{address, *size & ~kChunkFlags, (*size & 1) != 0};
}

void ChunkReader::report(HeapProblemKind kind, std::uint64_t address, std::uint64_t value) {
  if (is_full()) return;
  const std::uint32_t behind = ranks_.first_from(address);
  check_.problems.push_back({kind, address, value, behind == 0 ? BlockRanks::kNone : behind - 1});
}

void ChunkReader::check_block(const GlibcChunk& chunk, bool free) {
  const std::uint64_t begin = chunk.address + kChunkHeader, end = chunk.address + chunk.size;
  const std::uint32_t block = ranks_.first_from(begin);
  if (block == ranks_.size() || ranks_.begin(block) >= end) return;
  if (free)
    report(HeapProblemKind::LiveBlockIsFree, chunk.address, ranks_.begin(block));
  else if (ranks_.begin(block) == begin && ranks_.bytes(block) > chunk.size - 8) // it may use the next one's first word
    report(HeapProblemKind::LiveBlockTooBig, chunk.address, chunk.size);
}

bool ChunkReader::walk(std::uint64_t begin, std::uint64_t end, std::uint64_t top, ArenaCheck& arena) {
  bool whole = true, last_was_free = false;
  // Each step goes on by at least a header.
  for (std::uint64_t at = begin; at < end && !is_full();) {
    const auto here = chunk(at);
    if (!here) return false; // not captured
    if (at == top) return whole && here->size >= kLeastChunk - kChunkHeader && here->size <= end - at;
    if (here->size == 0) return whole; // the very end of a heap that others follow
    if (here->size == kChunkHeader) {  // a post in front of memory that is not malloc's
      at += kChunkHeader;
      continue;
    }
    if (here->size < kLeastChunk || here->size % 16 != 0 || here->size > end - at) {
      report(HeapProblemKind::ChunkSize, at, here->size);
      // Where the next one begins is not known, but the next live block has one.
      whole = false;
      last_was_free = false;
      const std::uint32_t block = ranks_.first_from(at + kLeastChunk + kChunkHeader);
      if (block == ranks_.size() || ranks_.begin(block) >= end) return false;
      at = ranks_.begin(block) - kChunkHeader;
      continue;
    }
    ++arena.chunks;
    const auto next = chunk(at + here->size);
    const bool is_last = at + here->size >= end || !next;
    const bool free = !is_last && !next->previous_in_use;
    if (free) {
      ++arena.free_chunks;
      free_chunks.push_back(*here);
      if (const auto told = cursor_.word(next->address); told && *told != here->size)
        report(HeapProblemKind::PreviousSize, at, *told);
      if (last_was_free) report(HeapProblemKind::FreeNeighbours, at, here->size);
    }
    check_block(*here, free);
    last_was_free = free;
    at += here->size;
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
