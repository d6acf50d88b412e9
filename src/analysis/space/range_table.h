// Ranges of an address space while it is being put together: by address, never overlapping, cut where something else
// begins. Private to analysis/. One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include "analysis/space/space_range.h"

namespace heaptape {

class RangeTable {
public:
  using Place = std::map<std::uint64_t, SpaceRange>::iterator;

  Place begin() { return ranges_.begin(); }
  Place end() { return ranges_.end(); }
  std::size_t size() const { return ranges_.size(); }

  // The first range that ends above this address.
  Place first_above(std::uint64_t address) {
    const Place after = ranges_.upper_bound(address);
    if (after == ranges_.begin()) return after;
    const Place before = std::prev(after);
    return before->second.end > address ? before : after;
  }
  // The range that holds this address; end(): none.
  Place find(std::uint64_t address) {
    const Place place = first_above(address);
    return place != end() && place->second.begin <= address ? place : end();
  }

  // No range begins below this address and ends above it. What is accessible counts as lying in front.
  void split(std::uint64_t address) {
    const Place place = find(address);
    if (place == end() || place->second.begin == address) return;
    SpaceRange& first = place->second;
    SpaceRange second = first;
    first.end = second.begin = address;
    first.committed = std::min(first.committed, first.bytes());
    second.committed -= first.committed;
    ranges_.emplace(address, second);
  }

  // Nothing is in [begin, end) any more.
  void cut(std::uint64_t begin, std::uint64_t end) {
    split(begin);
    split(end);
    ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(end));
  }

  // Takes the place of whatever was there.
  void put(const SpaceRange& range) {
    if (range.begin >= range.end) return;
    cut(range.begin, range.end);
    ranges_.emplace(range.begin, range);
  }

  // Puts in only what no range covers yet.
  void fill(const SpaceRange& range) {
    std::uint64_t at = range.begin;
    while (at < range.end) {
      const Place next = first_above(at);
      const std::uint64_t until = next == end() ? range.end : std::min(range.end, next->second.begin);
      const std::uint64_t behind = next == end() ? range.end : next->second.end;
      if (at < until) {
        SpaceRange part = range;
        part.begin = at;
        part.end = until;
        const std::uint64_t open = range.begin + range.committed;
        part.committed = open > at ? std::min(open, until) - at : 0;
        ranges_.emplace(at, part);
      }
      at = behind;
    }
  }

  std::vector<SpaceRange> take() {
    std::vector<SpaceRange> all;
    all.reserve(ranges_.size());
    for (auto& [begin, range] : ranges_) all.push_back(range);
    ranges_.clear();
    return all;
  }

private:
  std::map<std::uint64_t, SpaceRange> ranges_;
};

} // namespace heaptape
