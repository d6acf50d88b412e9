// Pieces of a program's address space, in whole pages.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heaptape {

struct PageRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  friend bool operator==(const PageRange&, const PageRange&) = default;
};

// Whether a range has a byte of one of these, which are in order.
bool overlaps(std::span<const PageRange> ranges, PageRange range);
// `ranges` but for what lies in `holes`, which are in order.
std::vector<PageRange> without(std::span<const PageRange> ranges, std::span<const PageRange> holes);

} // namespace heaptape
