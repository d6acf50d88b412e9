// A set of addresses as ranges in order. One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>

namespace heaptape {

class RangeSet {
public:
  void add(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    auto next = ranges_.upper_bound(begin);
    if (next != ranges_.begin() && std::prev(next)->second >= begin) {
      --next;
      begin = next->first;
    }
    while (next != ranges_.end() && next->first <= end) {
      end = std::max(end, next->second);
      next = ranges_.erase(next);
    }
    ranges_.emplace(begin, end);
  }

  // The parts of [begin, end) that are in the set: visit(begin, end).
  template <class Visit>
  void for_each_inside(std::uint64_t begin, std::uint64_t end, Visit visit) const {
    for (auto at = first_behind(begin); at != ranges_.end() && at->first < end; ++at)
      visit(std::max(begin, at->first), std::min(end, at->second));
  }
  // The parts that are not.
  template <class Visit>
  void for_each_outside(std::uint64_t begin, std::uint64_t end, Visit visit) const {
    for (auto at = first_behind(begin); at != ranges_.end() && at->first < end; ++at) {
      if (begin < at->first) visit(begin, at->first);
      begin = at->second;
    }
    if (begin < end) visit(begin, end);
  }
  bool touches(std::uint64_t begin, std::uint64_t end) const {
    const auto at = first_behind(begin);
    return at != ranges_.end() && at->first < end;
  }

private:
  using Ranges = std::map<std::uint64_t, std::uint64_t>; // begin -> end; neighbours are joined

  Ranges::const_iterator first_behind(std::uint64_t address) const {
    auto at = ranges_.upper_bound(address);
    if (at != ranges_.begin() && std::prev(at)->second > address) --at;
    return at;
  }

  Ranges ranges_;
};

} // namespace heaptape
