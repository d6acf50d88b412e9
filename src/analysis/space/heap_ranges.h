// The parts of the address space that hold heap, each with how well it is used.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/heap/block_map.h"
#include "analysis/heap/cost.h"
#include "analysis/space/address_space.h"
#include "analysis/space/arenas.h"

namespace heaptape {

struct RangeFigures {
  Cost live;
  std::uint64_t first = 0, last = 0;          // where the first live block begins and the last one ends
  std::uint64_t gap_begin = 0, gap_bytes = 0; // the largest one between two live blocks; the first of equal ones
  std::uint64_t pages = 0;                    // with a live block in them
  std::uint64_t little_pages = 0;             // of these, held by less than kLittle bytes

  std::uint64_t span() const { return last - first; }
  // Bytes of the span that no live block covers.
  std::uint64_t unused() const { return span() > live.bytes ? span() - live.bytes : 0; }
  friend bool operator==(const RangeFigures&, const RangeFigures&) = default;
};
// Of all the given blocks, which are sorted by address.
RangeFigures range_figures(std::span<const Block> by_address);

struct HeapRange {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t committed = 0; // bytes from `begin` on that can be read and written; the rest is only reserved
  RangeKind kind = RangeKind::Anonymous;
  bool known = true;      // false: no mapping is known where these blocks lie
  std::uint32_t name = 0; // in AddressSpace::names
  RangeFigures figures;
};

// Every range with a live block in it, and the main heap and thread arenas without any; by address. Mappings side by
// side are one. Blocks where the address space has no range make ranges of their own: those that lie within a mebibyte
// of each other, as whole pages.
std::vector<HeapRange> heap_ranges(const AddressSpace& space, std::span<const Block> by_address);

} // namespace heaptape
