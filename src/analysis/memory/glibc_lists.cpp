#include "analysis/memory/glibc_lists.h"

#include <algorithm>
#include <array>

#include "analysis/memory/glibc_arena.h"

namespace heaptape {

namespace {

constexpr std::uint64_t kMostInList = std::uint64_t{1} << 24;
constexpr std::uint32_t kSmallBins = 64; // bins below hold one size each
constexpr std::uint32_t kCacheLists = 64;
constexpr std::uint32_t kPlausibleLists = 56;                    // of a table that may be a cache
constexpr std::uint64_t kMostVariables = std::uint64_t{1} << 20; // bytes of a thread's

// A link since 2.32.
std::uint64_t mixed(std::uint64_t place, std::uint64_t link) { return place >> 12 ^ link; }

bool may_be_link(ChunkReader& reader, std::uint64_t link) { return link % 16 == 0 && reader.word(link).has_value(); }

// What the link at `place`, in the first chunk of a list, says about links.
void look_at_link(ChunkReader& reader, std::uint64_t place) {
  const auto link = reader.word(place);
  if (reader.mixed_links || !link || *link == 0) return; // nothing, or the end of a list of an older version, or damage
  const std::uint64_t to = mixed(place, *link);
  if (to == 0 || may_be_link(reader, to))
    reader.mixed_links = true;
  else if (may_be_link(reader, *link))
    reader.mixed_links = false;
}

struct SingleList {
  std::uint64_t first = 0, place = 0; // the first link and where it lies
  std::uint64_t header = 0;           // how far behind the beginnings of chunks links lead
  std::uint64_t size = 0;             // of its chunks
  std::uint64_t most = 0;
};

// A chunk that is twice among the last ones.
std::optional<std::uint64_t> seen_twice(const std::vector<ListMember>& members, std::uint64_t count) {
  std::vector<std::uint64_t> chunks;
  for (std::size_t i = members.size() - std::min<std::size_t>(members.size(), count); i < members.size(); ++i)
    chunks.push_back(members[i].chunk);
  std::ranges::sort(chunks);
  const auto twice = std::ranges::adjacent_find(chunks);
  return twice == chunks.end() ? std::nullopt : std::optional(*twice);
}

// Gives the number of its chunks. What leads astray, round in a circle or on too far is reported.
std::uint64_t walk_single(ChunkReader& reader, const SingleList& list) {
  std::uint64_t count = 0, place = list.place, raw = list.first;
  std::uint64_t seen = 0, seen_until = 1; // a chunk, compared with those that follow; renewed at 1, 2, 4, ... chunks
  for (std::uint64_t at = list.first; at != 0 && !reader.is_full(); ++count) {
    const std::uint64_t address = at - list.header;
    const auto chunk = at % 16 == 0 && at >= list.header ? reader.chunk(address) : std::nullopt;
    const auto link = chunk ? reader.word(address + kChunkHeader) : std::nullopt;
    if (!link) {
      if (reader.cannot_see(address + 8) || reader.cannot_see(address + kChunkHeader)) break;
      reader.report({.kind = HeapProblemKind::ListLink,
                     .chunk = place == list.place ? 0 : place - kChunkHeader,
                     .place = place,
                     .value = raw,
                     .in_free_memory = place != list.place});
      break;
    }
    if (address == seen) {
      reader.report({.kind = HeapProblemKind::FreedTwice,
                     .chunk = address,
                     .place = address + kChunkHeader,
                     .value = *link,
                     .in_free_memory = true});
      break;
    }
    if (count == list.most) {
      if (const auto twice = seen_twice(reader.members, count))
        reader.report({.kind = HeapProblemKind::FreedTwice,
                       .chunk = *twice,
                       .place = *twice + kChunkHeader,
                       .value = list.place,
                       .in_free_memory = true});
      else
        reader.report({.kind = HeapProblemKind::ListLength, .chunk = address, .place = list.place, .value = count});
      break;
    }
    if (chunk->size != list.size) {
      reader.report({.kind = HeapProblemKind::ListSize, .chunk = address, .place = address + 8, .value = chunk->head});
      break;
    }
    if (reader.is_live(address + kChunkHeader)) {
      reader.report({.kind = HeapProblemKind::LiveBlockIsFree, .chunk = address, .place = place, .value = raw});
      break;
    }
    if (reader.members.size() < ChunkReader::kMostMembers) reader.members.push_back({address, list.place});
    if (count == seen_until) seen = address, seen_until *= 2;
    if (count == 0) seen = address;
    place = address + kChunkHeader;
    raw = *link;
    at = reader.mixed_links.value_or(false) ? mixed(place, raw) : raw;
  }
  return count;
}

void look_at_table(ChunkReader& reader, std::uint64_t entries, std::uint32_t lists, std::uint64_t behind) {
  for (std::uint32_t list = 0; list < lists && !reader.mixed_links; ++list) {
    const auto first = reader.word(entries + std::uint64_t{list} * 8);
    if (first && *first != 0 && *first % 16 == 0) look_at_link(reader, *first + behind);
  }
}

std::uint64_t count_at(ChunkReader& reader, const GlibcCache& cache, std::uint32_t list) {
  const std::uint64_t word = reader.word(cache.table + list * cache.count_bytes).value_or(0);
  return word & (cache.count_bytes == 1 ? 0xff : 0xffff);
}
std::uint64_t entry_at(const GlibcCache& cache, std::uint32_t list) {
  return cache.table + kCacheLists * cache.count_bytes + std::uint64_t{list} * 8;
}

// Another chunk of this size may lie where a cache was looked for.
bool may_be_cache(ChunkReader& reader, const GlibcCache& cache) {
  std::uint32_t plausible = 0;
  for (std::uint32_t list = 0; list < kCacheLists; ++list) {
    const auto first = reader.word(entry_at(cache, list));
    if (!first) return false;
    const bool is_empty = count_at(reader, cache, list) == 0;
    plausible += is_empty ? *first % 16 == 0 : *first != 0 && may_be_link(reader, *first);
  }
  return plausible >= kPlausibleLists;
}

} // namespace

std::optional<GlibcCache> find_cache(ChunkReader& reader, const ThreadState& thread, std::uint64_t static_tls) {
  const std::uint64_t fs = thread[ThreadState::FsBase];
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
      const GlibcCache cache{*table, layout.count_bytes};
      if (chunk->size == layout.chunk && may_be_cache(reader, cache)) return cache;
    }
  }
  return std::nullopt;
}

void look_at_links(ChunkReader& reader, const GlibcCache& cache) {
  look_at_table(reader, entry_at(cache, 0), kCacheLists, 0);
}

void look_at_links(ChunkReader& reader, const ArenaCheck& arena) {
  look_at_table(reader, arena.address + GlibcArena::kFastBins, GlibcArena::kFastBinCount, kChunkHeader);
}

void check_bins(ChunkReader& reader, ArenaCheck& arena, bool walked) {
  for (std::uint32_t i = 1; i <= GlibcArena::kBinCount && !reader.is_full(); ++i) {
    const std::uint64_t bin = arena.address + GlibcArena::kBins + std::uint64_t{i - 1} * 16 - kChunkHeader;
    std::uint64_t before = bin;
    auto at = reader.word(bin + kChunkHeader);
    std::uint64_t count = 0;
    for (; at && *at != bin; ++count) {
      const auto chunk = *at % 16 == 0 ? reader.chunk(*at) : std::nullopt;
      const auto back = chunk ? reader.word(*at + kChunkHeader + 8) : std::nullopt;
      if (!back && (reader.cannot_see(*at + 8) || reader.cannot_see(*at + kChunkHeader + 8))) break;
      if (!back || (walked && !reader.is_free(*at))) {
        reader.report({.kind = HeapProblemKind::ListLink,
                       .chunk = before == bin ? 0 : before,
                       .place = before + kChunkHeader,
                       .value = *at,
                       .in_free_memory = before != bin});
        break;
      }
      if (*back != before) {
        reader.report({.kind = HeapProblemKind::ListLink,
                       .chunk = *at,
                       .place = *at + kChunkHeader + 8,
                       .value = *back,
                       .in_free_memory = true});
        break;
      }
      if (i > 1 && i < kSmallBins && chunk->size != std::uint64_t{i} * 16) {
        reader.report({.kind = HeapProblemKind::ListSize, .chunk = *at, .place = *at + 8, .value = chunk->head});
        break;
      }
      if (count == (walked ? reader.free_chunks.size() : kMostInList)) {
        reader.report({.kind = HeapProblemKind::ListLength, .chunk = *at, .place = bin + kChunkHeader, .value = count});
        break;
      }
      if (reader.members.size() < ChunkReader::kMostMembers) reader.members.push_back({*at, bin + kChunkHeader});
      before = *at;
      at = reader.word(*at + kChunkHeader);
    }
    if (!at) reader.cannot_see(before + kChunkHeader);
    if (count != 0) ++arena.used_bins;
  }
}

void check_fast_bins(ChunkReader& reader, ArenaCheck& arena) {
  for (std::uint32_t i = 0; i < GlibcArena::kFastBinCount && !reader.is_full(); ++i) {
    const std::uint64_t place = arena.address + GlibcArena::kFastBins + std::uint64_t{i} * 8;
    const std::uint64_t size = std::uint64_t{i + 2} * 16;
    if (reader.cannot_see(place)) break;
    const std::uint64_t count = walk_single(
        reader, {.first = reader.word(place).value_or(0), .place = place, .size = size, .most = kMostInList});
    arena.fast_bins += {count, count * size};
  }
}

void check_cache(ChunkReader& reader, const GlibcCache& found, CacheCheck& cache) {
  for (std::uint32_t list = 0; list < kCacheLists && !reader.is_full(); ++list) {
    const std::uint64_t entry = entry_at(found, list);
    if (reader.cannot_see(entry) || reader.cannot_see(found.table + list * found.count_bytes)) break;
    const std::uint64_t counted = count_at(reader, found, list);
    // A list that is not in use may have a link left over.
    const std::uint64_t first = counted == 0 ? 0 : reader.word(entry).value_or(0);
    const std::uint64_t size = kLeastChunk + std::uint64_t{list} * 16;
    const std::size_t before = reader.problems.size();
    const std::uint64_t unseen = reader.unseen;
    const std::uint64_t length =
        walk_single(reader, {.first = first, .place = entry, .header = kChunkHeader, .size = size, .most = counted});
    cache.free += {length, length * size};
    if (length < counted && reader.problems.size() == before && reader.unseen == unseen)
      reader.report({.kind = HeapProblemKind::ListLength, .place = entry, .value = counted});
  }
}

void check_members(ChunkReader& reader, bool all_known) {
  std::vector<ListMember>& members = reader.members;
  std::ranges::stable_sort(members, {}, &ListMember::chunk);
  for (std::size_t i = 1; i < members.size() && !reader.is_full(); ++i) {
    if (members[i].chunk != members[i - 1].chunk || members[i].list == members[i - 1].list) continue;
    const bool is_known = std::ranges::any_of(reader.problems, [&](const HeapProblem& problem) {
      return problem.kind == HeapProblemKind::FreedTwice && problem.chunk == members[i].chunk;
    });
    if (!is_known)
      reader.report({.kind = HeapProblemKind::FreedTwice,
                     .chunk = members[i].chunk,
                     .place = members[i].chunk + kChunkHeader,
                     .value = members[i].list,
                     .in_free_memory = true});
  }
  if (!all_known || members.size() == ChunkReader::kMostMembers) return;
  for (const GlibcChunk& chunk : reader.free_chunks) {
    if (reader.is_full()) break;
    if (!std::ranges::binary_search(members, chunk.address, {}, &ListMember::chunk))
      reader.report({.kind = HeapProblemKind::NotInList,
                     .chunk = chunk.address,
                     .place = chunk.address + kChunkHeader,
                     .in_free_memory = true});
  }
}

} // namespace heaptape
