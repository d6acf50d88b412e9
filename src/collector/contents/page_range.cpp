#include "collector/contents/page_range.h"

#include <algorithm>

namespace heaptape {

bool overlaps(std::span<const PageRange> ranges, PageRange range) {
  const auto first =
      std::ranges::partition_point(ranges, [&](const PageRange& other) { return other.end <= range.begin; });
  return first != ranges.end() && first->begin < range.end;
}

std::vector<PageRange> without(std::span<const PageRange> ranges, std::span<const PageRange> holes) {
  std::vector<PageRange> left;
  for (PageRange range : ranges) {
    auto hole = std::ranges::partition_point(holes, [&](const PageRange& each) { return each.end <= range.begin; });
    for (; hole != holes.end() && hole->begin < range.end; ++hole) {
      if (range.begin < hole->begin) left.push_back({range.begin, hole->begin});
      range.begin = hole->end;
    }
    if (range.begin < range.end) left.push_back(range);
  }
  return left;
}

} // namespace heaptape
