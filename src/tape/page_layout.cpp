#include "tape/page_layout.h"

#include <array>
#include <cstring>

#include "base/check.h"

namespace heaptape {

namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

// The upper half of an address of a block, a stack or a library: at least 16 TB, and in the lower half of all addresses. It stays as it
// is, so that the same words are found when the layout is undone.
constexpr std::uint32_t kFirstUpper = 0x1000, kUppers = 0x7000;

// `sign`: 1 adds the word's place, -1 takes it off.
void add_places(std::span<const std::byte> from, std::span<std::byte> to, std::uint32_t sign) {
  for (std::size_t at = 0; at < from.size(); at += kWord) {
    std::uint64_t word = 0;
    std::memcpy(&word, from.data() + at, kWord);
    const auto upper = static_cast<std::uint32_t>(word >> 32);
    const std::uint32_t place = upper - kFirstUpper < kUppers ? static_cast<std::uint32_t>(at) : 0;
    const std::uint32_t lower = static_cast<std::uint32_t>(word) + sign * place;
    word = std::uint64_t{upper} << 32 | lower;
    std::memcpy(to.data() + at, &word, kWord);
  }
}

using Square = std::array<std::uint64_t, kWord>; // 8 words of 8 bytes

void swap_parts(std::uint64_t& one, std::uint64_t& other, unsigned bits, std::uint64_t mask) {
  const std::uint64_t difference = ((one >> bits) ^ other) & mask;
  one ^= difference << bits;
  other ^= difference;
}

// Byte i of word k becomes byte k of word i.
void transpose(Square& square) {
  for (std::size_t i = 0; i < 4; ++i) swap_parts(square[i], square[i + 4], 32, 0x00000000FFFFFFFF);
  for (const std::size_t i : {0u, 1u, 4u, 5u}) swap_parts(square[i], square[i + 2], 16, 0x0000FFFF0000FFFF);
  for (const std::size_t i : {0u, 2u, 4u, 6u}) swap_parts(square[i], square[i + 1], 8, 0x00FF00FF00FF00FF);
}

void to_columns(std::span<const std::byte> pages, std::span<std::byte> out) {
  const std::size_t words = pages.size() / kWord;
  for (std::size_t at = 0; at < words; at += kWord) {
    Square square;
    std::memcpy(square.data(), pages.data() + at * kWord, sizeof square);
    transpose(square);
    for (std::size_t column = 0; column < kWord; ++column)
      std::memcpy(out.data() + column * words + at, &square[column], kWord);
  }
}

void from_columns(std::span<const std::byte> columns, std::span<std::byte> pages) {
  const std::size_t words = pages.size() / kWord;
  for (std::size_t at = 0; at < words; at += kWord) {
    Square square;
    for (std::size_t column = 0; column < kWord; ++column)
      std::memcpy(&square[column], columns.data() + column * words + at, kWord);
    transpose(square);
    std::memcpy(pages.data() + at * kWord, square.data(), sizeof square);
  }
}

} // namespace

void lay_out(PageLayout layout, std::span<const std::byte> pages, std::span<std::byte> out) {
  HT_CHECK(pages.size() % sizeof(Square) == 0 && out.size() == pages.size());
  switch (layout) {
  case PageLayout::AsIs: std::memcpy(out.data(), pages.data(), pages.size()); break;
  case PageLayout::Relative: add_places(pages, out, ~std::uint32_t{0}); break;
  case PageLayout::Columns: to_columns(pages, out); break;
  }
}

void restore(PageLayout layout, std::span<const std::byte> laid_out, std::span<std::byte> pages) {
  HT_CHECK(pages.size() % sizeof(Square) == 0 && laid_out.size() == pages.size());
  switch (layout) {
  case PageLayout::AsIs: std::memcpy(pages.data(), laid_out.data(), pages.size()); break;
  case PageLayout::Relative: add_places(laid_out, pages, 1); break;
  case PageLayout::Columns: from_columns(laid_out, pages); break;
  }
}

} // namespace heaptape
