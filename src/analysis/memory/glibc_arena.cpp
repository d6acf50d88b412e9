#include "analysis/memory/glibc_arena.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace heaptape {

namespace {

constexpr std::uint64_t kWord = 8;
constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20; // of variables
// Many bins are in use in a large heap, but those for large chunks of which the program has none are not.
constexpr std::uint32_t kEmptyBins = 16;

// Bin i is a pretended chunk whose two links are words 2i and 2i + 1; a chunk's links begin 16 bytes into it.
bool is_empty_bin(const std::vector<std::uint64_t>& words, std::size_t at, std::uint64_t address) {
  return words[at] == address - 2 * kWord && words[at + 1] == words[at];
}

// Arenas are linked in a ring. One of which nothing is known does not speak against it.
bool is_in_ring(MemoryCursor& cursor, std::uint64_t arena) {
  std::uint64_t at = arena;
  for (std::uint32_t i = 0; i < GlibcArena::kMostArenas; ++i) {
    const auto next = cursor.word(at + GlibcArena::kNext);
    if (!next) return at != arena && cursor.state_at(at + GlibcArena::kNext) != MemoryState::None;
    if (*next == arena) return true;
    at = *next;
  }
  return false;
}

} // namespace

std::optional<std::uint64_t> find_main_arena(MemoryCursor& cursor, std::uint64_t begin, std::uint64_t end) {
  begin = (begin + kWord - 1) & ~(kWord - 1);
  if (begin >= end || end - begin > kMostBytes || end - begin < GlibcArena::kBytes) return std::nullopt;
  std::vector<std::uint64_t> words((end - begin) / kWord);
  const std::size_t count = cursor.read(begin, std::as_writable_bytes(std::span(words))) / kWord;
  words.resize(count);
  constexpr std::size_t kBinWords = 2 * GlibcArena::kBinCount;
  if (count < kBinWords) return std::nullopt;
  std::vector<std::uint32_t> empty(count + 1); // bins that would be empty, among every second word before this one
  for (std::size_t at = 0; at < count; ++at) {
    const bool is_empty = at + 1 < count && is_empty_bin(words, at, begin + at * kWord);
    empty[at + 1] = (at == 0 ? 0 : empty[at - 1]) + is_empty;
  }
  for (std::size_t at = GlibcArena::kBins / kWord; at + kBinWords <= count; ++at) {
    if (empty[at + kBinWords - 1] - empty[at - 1] < kEmptyBins) continue;
    const bool all_links = std::all_of(words.begin() + static_cast<std::ptrdiff_t>(at),
                                       words.begin() + static_cast<std::ptrdiff_t>(at + kBinWords),
                                       [](std::uint64_t word) { return word > 4096 && word >> 47 == 0; });
    if (!all_links) continue;
    // Words around the bins may look like links, too.
    const std::uint64_t arena = begin + at * kWord - GlibcArena::kBins;
    if (is_in_ring(cursor, arena)) return arena;
  }
  return std::nullopt;
}

} // namespace heaptape
