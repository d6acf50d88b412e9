// How pages are laid out before they are packed. A packer looks for bytes that it has seen, and memory has habits that hide them:
//
//   Relative  a tree whose nodes were allocated one after the other holds the addresses of neighbours: all are different, but as
//             distances from where they lie many are the same. The lower half of each word that looks like an address becomes that distance.
//   Columns   a table of numbers that differ in a byte or two has runs of bytes that are the same, eight apart. All first bytes
//             of the words come first, then all second bytes, and so on.
//
// Both are undone without knowing more than which it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace heaptape {

enum class PageLayout : std::uint8_t { AsIs, Relative, Columns };

// `pages` is a multiple of 64 bytes, and `out` as large; they must not overlap.
void lay_out(PageLayout layout, std::span<const std::byte> pages, std::span<std::byte> out);
// Undoes it.
void restore(PageLayout layout, std::span<const std::byte> laid_out, std::span<std::byte> pages);

} // namespace heaptape
