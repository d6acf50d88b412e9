#include "tape/maps.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace heaptape {

std::uint32_t MapNames::number_of(std::string_view name) {
  if (name.empty()) return 0;
  const auto [place, is_new] = numbers_.try_emplace(std::string(name), static_cast<std::uint32_t>(texts_.size()));
  if (is_new) texts_.emplace_back(name);
  return place->second;
}

MapsChange maps_change(const std::vector<MappedRange>& before, const std::vector<MappedRange>& now,
                       std::uint64_t time_us) {
  MapsChange change{.time_us = time_us};
  auto old = before.begin();
  auto fresh = now.begin();
  while (old != before.end() || fresh != now.end()) {
    if (old != before.end() && fresh != now.end() && *old == *fresh) {
      ++old, ++fresh;
    } else if (fresh == now.end() || (old != before.end() && old->begin <= fresh->begin)) {
      change.removed.push_back(old++->begin);
    } else {
      change.added.push_back(*fresh++);
    }
  }
  return change;
}

std::optional<std::size_t> Maps::last_until(std::uint64_t time_us) const {
  const auto after =
      std::upper_bound(changes_.begin(), changes_.end(), time_us,
                       [](std::uint64_t wanted, const MapsChange& change) { return wanted < change.time_us; });
  if (after == changes_.begin()) return std::nullopt;
  return static_cast<std::size_t>(after - changes_.begin()) - 1;
}

void Maps::add(std::uint64_t number, MapsChange change) {
  const bool follows = !changes_.empty() && number == last_number_ + 1;
  if (!change.whole && !follows) return;
  if (!changes_.empty() && change.time_us <= changes_.back().time_us) return;
  last_number_ = number;
  changes_.push_back(std::move(change));
}

std::vector<MappedRange> Maps::ranges(std::size_t moment) const {
  std::size_t first = moment;
  while (!changes_[first].whole) --first;
  // Ordered by address, so that the work is bounded by what changed and not by moments times ranges.
  std::map<std::uint64_t, MappedRange> open;
  for (std::size_t i = first; i <= moment; ++i) {
    for (const std::uint64_t begin : changes_[i].removed) open.erase(begin);
    for (const MappedRange& range : changes_[i].added) {
      if (range.begin >= range.end) continue;
      auto at = open.lower_bound(range.begin);
      if (at != open.begin() && std::prev(at)->second.end > range.begin) --at;
      while (at != open.end() && at->second.begin < range.end) at = open.erase(at);
      open.emplace_hint(at, range.begin, range);
    }
  }
  std::vector<MappedRange> ranges;
  ranges.reserve(open.size());
  for (const auto& [begin, range] : open) ranges.push_back(range);
  return ranges;
}

} // namespace heaptape
