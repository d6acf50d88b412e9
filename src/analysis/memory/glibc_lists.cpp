#include "analysis/memory/glibc_lists.h"

#include <algorithm>
#include <array>

#include "analysis/memory/glibc_arena.h"

namespace heaptape {

namespace {

constexpr std::uint64_t kMostInList = std::uint64_t{1} << 24;
constexpr std::uint32_t kSmallBins = 64; // bins below hold one size each
constexpr std::uint32_t kCacheLists = 64;
constexpr std::uint64_t kMostVariables = std::uint64_t{1} << 20; // bytes of a thread's

// Since 2.32 a link in a singly linked list is mixed with its own place. A link is 0 or aligned, which tells the two forms apart.
std::uint64_t mixed(std::uint64_t place, std::uint64_t link) { return place >> 12 ^ link; }
std::uint64_t next_of(ChunkReader& reader, std::uint64_t place, std::uint64_t link) {
  const std::uint64_t shown = mixed(place, link);
  if (shown == 0 || (shown % 16 == 0 && reader.word(shown))) return shown;
  return link;
}

// A list of at most `most` chunks of one size; `first` and links lead `header` bytes behind the beginnings of chunks. Gives their number.
std::uint64_t walk_single(ChunkReader& reader, std::uint64_t first, std::uint64_t place, std::uint64_t header,
                          std::uint64_t size, std::uint64_t most) {
  std::uint64_t count = 0;
  for (std::uint64_t at = first; at != 0 && !reader.is_full(); ++count) {
    const std::uint64_t address = at - header;
    const auto chunk = at % 16 == 0 && at >= header ? reader.chunk(address) : std::nullopt;
    const auto link = chunk ? reader.word(address + kChunkHeader) : std::nullopt;
    if (!link) {
      reader.report(HeapProblemKind::ListLink, place, at);
      break;
    }
    if (count == most) {
      reader.report(HeapProblemKind::ListLength, place, count);
      break;
    }
    if (chunk->size != size) {
      reader.report(HeapProblemKind::ListSize, address, chunk->size);
      break;
    }
    const std::uint32_t block = reader.ranks().find(address + kChunkHeader);
    if (block != BlockRanks::kNone && reader.ranks().begin(block) == address + kChunkHeader) {
      reader.report(HeapProblemKind::LiveBlockIsFree, address, reader.ranks().begin(block));
      break;
    }
    place = address + kChunkHeader;
    at = next_of(reader, place, *link);
  }
  return count;
}

} // namespace

void check_bins(ChunkReader& reader, ArenaCheck& arena) {
  for (std::uint32_t i = 1; i <= GlibcArena::kBinCount && !reader.is_full(); ++i) {
    const std::uint64_t bin = arena.address + GlibcArena::kBins + std::uint64_t{i - 1} * 16 - kChunkHeader;
    std::uint64_t before = bin;
    auto at = reader.word(bin + kChunkHeader);
    std::uint64_t count = 0;
    for (; at && *at != bin; ++count) {
      const auto chunk = *at % 16 == 0 ? reader.chunk(*at) : std::nullopt;
      const auto back = chunk ? reader.word(*at + kChunkHeader + 8) : std::nullopt;
      if (!back || *back != before || (arena.walked && !reader.is_free(*at))) {
        reader.report(HeapProblemKind::ListLink, before + kChunkHeader, *at);
        break;
      }
      if (i > 1 && i < kSmallBins && chunk->size != std::uint64_t{i} * 16) {
        reader.report(HeapProblemKind::ListSize, *at, chunk->size);
        break;
      }
      if (count == (arena.walked ? reader.free_chunks.size() : kMostInList)) {
        reader.report(HeapProblemKind::ListLength, bin + kChunkHeader, count);
        break;
      }
      before = *at;
      at = reader.word(*at + kChunkHeader);
    }
    arena.in_bins += count;
    if (count != 0) ++arena.bins;
  }
}

void check_fast_bins(ChunkReader& reader, ArenaCheck& arena) {
  for (std::uint32_t i = 0; i < GlibcArena::kFastBinCount && !reader.is_full(); ++i) {
    const std::uint64_t place = arena.address + GlibcArena::kFastBins + std::uint64_t{i} * 8;
    const std::uint64_t first = reader.word(place).value_or(0);
    arena.in_fast_bins +=
        walk_single(reader, first, place, 0, std::uint64_t{i + 2} * 16, arena.walked ? arena.chunks : kMostInList);
  }
}

void check_cache(ChunkReader& reader, const ThreadState& thread, std::uint64_t static_tls, CacheCheck& cache) {
  const std::uint64_t fs = thread[ThreadState::FsBase];
  // Counts of one byte until 2.29, of two since.
  struct Layout {
    std::uint64_t chunk, count_bytes;
  };
  constexpr std::array<Layout, 2> kLayouts{{{0x290, 2}, {0x250, 1}}};
  const std::uint64_t words = std::min({fs, static_tls, kMostVariables}) / 8;
  for (std::uint64_t i = 0; i < words; ++i) {
    const auto table = reader.word((fs & ~std::uint64_t{7}) - (words - i) * 8);
    if (!table || *table % 16 != 0 || *table < kChunkHeader || reader.ranks().find(*table) != BlockRanks::kNone)
      continue;
    const auto chunk = reader.chunk(*table - kChunkHeader);
    if (!chunk) continue;
    for (const Layout& layout : kLayouts) {
      if (chunk->size != layout.chunk) continue;
      for (std::uint32_t list = 0; list < kCacheLists && !reader.is_full(); ++list) {
        const std::uint64_t entries = *table + kCacheLists * layout.count_bytes + std::uint64_t{list} * 8;
        const std::uint64_t counted =
            reader.word(*table + list * layout.count_bytes).value_or(0) & (layout.count_bytes == 1 ? 0xff : 0xffff);
        // A list that is not in use may have a link left over.
        const std::uint64_t first = counted == 0 ? 0 : reader.word(entries).value_or(0);
        const std::uint64_t size = kLeastChunk + std::uint64_t{list} * 16;
        const std::uint64_t length = walk_single(reader, first, entries, kChunkHeader, size, counted);
        cache.chunks += length;
        if (length < counted) reader.report(HeapProblemKind::ListLength, entries, counted);
      }
      return;
    }
  }
}

} // namespace heaptape
