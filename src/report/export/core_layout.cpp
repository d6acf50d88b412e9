#include "report/export/core_layout.h"

#include <algorithm>

namespace heaptape {

namespace {

// A damaged tape may say that one word fills the address space.
constexpr std::uint64_t kMostFill = std::uint64_t{1} << 40;

class Region {
public:
  Region(const MappedRange& range, CoreLayout& layout) : permissions_(range.permissions), layout_(layout) {}

  void add(std::uint64_t begin, std::uint64_t end, bool has_contents) {
    std::vector<CoreSegment>& segments = layout_.segments;
    if (is_open_ && segments.back().end == begin && (segments.back().bytes != 0) == has_contents) {
      segments.back().end = end;
      if (has_contents) segments.back().bytes += end - begin;
      return;
    }
    segments.push_back({begin, end, has_contents ? end - begin : 0, permissions_});
    is_open_ = true;
  }
  void add_first_page(std::uint64_t begin, std::uint64_t end) {
    layout_.segments.push_back({begin, end, kPageBytes, permissions_});
    is_open_ = false;
  }
  void add_holes(std::uint64_t begin, std::uint64_t end) {
    for (; end - begin >= CoreLayout::kHoleBytes; begin += CoreLayout::kHoleBytes)
      layout_.segments.push_back(
          {begin, begin + CoreLayout::kHoleBytes, CoreLayout::kHoleBytes, permissions_, /*hole=*/true});
    is_open_ = false;
    if (begin < end) add(begin, end, true);
  }
  void count_missing(PageState state, std::uint64_t bytes) {
    // Guard pages and reservations are missing to the program, too.
    if ((permissions_ & kMapRead) != 0) layout_.missing_bytes[static_cast<std::size_t>(state)] += bytes;
  }

private:
  const std::uint8_t permissions_;
  CoreLayout& layout_;
  bool is_open_ = false; // the last segment may become longer
};

} // namespace

CoreLayout lay_out_core(std::span<const MappedRange> regions, std::span<const PageRun> runs,
                        const std::function<bool(std::uint64_t address)>& is_known) {
  CoreLayout layout;
  std::uint64_t fill_left = kMostFill;
  std::size_t first = 0;
  for (const MappedRange& range : regions) {
    while (first < runs.size() && runs[first].end <= range.begin) ++first;
    std::size_t last = first;
    bool is_changed = false;
    for (; last < runs.size() && runs[last].begin < range.end; ++last)
      is_changed = is_changed || runs[last].state == PageState::Stored || runs[last].state == PageState::Fill;

    Region region(range, layout);
    std::uint64_t at = range.begin;
    for (std::size_t i = first; i < last; ++i) {
      const PageRun& run = runs[i];
      const std::uint64_t begin = std::max(run.begin, at), end = std::min(run.end, range.end);
      if (begin >= end) continue;
      if (at < begin) region.add(at, begin, false);
      at = end;
      switch (run.state) {
      case PageState::Stored: region.add(begin, end, true); break;
      case PageState::Fill:
        if (end - begin <= fill_left) {
          region.add(begin, end, true);
          fill_left -= end - begin;
        } else {
          region.add(begin, end, false);
          region.count_missing(run.state, end - begin);
        }
        break;
      case PageState::Zero:
        if (end - begin >= CoreLayout::kHoleBytes)
          region.add_holes(begin, end);
        else
          region.add(begin, end, true);
        break;
      case PageState::OfFile:
        if (is_changed && is_known(begin)) {
          region.add(begin, end, true);
        } else if (!is_changed && begin == range.begin && range.offset == 0 && is_known(begin)) {
          region.add_first_page(begin, end);
        } else {
          region.add(begin, end, false);
        }
        break;
      case PageState::None: region.add(begin, end, false); break;
      case PageState::Refused:
      case PageState::LeftOut:
      case PageState::Shared:
        region.add(begin, end, false);
        region.count_missing(run.state, end - begin);
        break;
      }
    }
    if (at < range.end) region.add(at, range.end, false);
  }
  return layout;
}

} // namespace heaptape
