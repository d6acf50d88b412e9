#include "analysis/memory/lost_ways.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace heaptape {
namespace {

bool is_lost(const Reachability& reach, std::uint32_t block) {
  const LeakClass each = reach.class_of(block);
  return each == LeakClass::Definitely || each == LeakClass::Indirectly;
}

// All lost blocks that one leads to, by the shortest ways.
class Search {
public:
  Search(const HeapView& heap, const Reachability& reach, std::uint32_t start) : back_(start) {
    from_.emplace(start, start);
    met_.push_back(start);
    for (std::size_t i = 0; i < met_.size(); ++i) {
      for (const std::uint32_t target : heap.graph.targets(met_[i])) {
        if (target == met_[i] || !is_lost(reach, target)) continue;
        if (target == start && back_ == start) back_ = met_[i];
        if (from_.try_emplace(target, met_[i]).second) met_.push_back(target);
        references_.emplace_back(target, met_[i]);
      }
    }
    std::ranges::sort(references_);
  }

  const std::vector<std::uint32_t>& met() const { return met_; }
  bool leads_back() const { return back_ != met_[0]; }
  // From the start to a block that was met, with both.
  std::vector<std::uint32_t> way_to(std::uint32_t block) const {
    std::vector<std::uint32_t> way{block};
    while (way.back() != met_[0]) way.push_back(from_.at(way.back()));
    std::ranges::reverse(way);
    return way;
  }
  std::vector<std::uint32_t> way_back() const { return leads_back() ? way_to(back_) : std::vector<std::uint32_t>(); }
  // How many of those that were met lead to the start, itself included.
  std::uint32_t cycle() const {
    std::vector<std::uint32_t> queue{met_[0]};
    std::unordered_map<std::uint32_t, bool> counted{{met_[0], true}};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      auto reference = std::ranges::lower_bound(references_, std::pair{queue[i], std::uint32_t{0}});
      for (; reference != references_.end() && reference->first == queue[i]; ++reference)
        if (counted.try_emplace(reference->second, true).second) queue.push_back(reference->second);
    }
    return static_cast<std::uint32_t>(queue.size());
  }

private:
  std::unordered_map<std::uint32_t, std::uint32_t> from_; // of each that was met the one before
  std::vector<std::uint32_t> met_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> references_; // target, source
  std::uint32_t back_; // the first that leads to the start; the start: none
};

} // namespace

LostWays lost_ways(const HeapView& heap, const Reachability& reach, std::uint32_t block) {
  LostWays ways;
  const Search search(heap, reach, block);
  ways.ring = search.way_back();
  ways.cycle = search.leads_back() ? search.cycle() : 1;
  for (const std::uint32_t each : search.met()) {
    if (each == block) continue;
    ++ways.below.blocks;
    ways.below.bytes += heap.ranks.bytes(each);
  }
  if (const std::uint32_t leader = reach.leader_of(block); leader != block)
    ways.way = Search(heap, reach, leader).way_to(block);
  return ways;
}

} // namespace heaptape
