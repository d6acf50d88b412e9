#include "analysis/memory/reachability.h"

#include <algorithm>
#include <utility>

namespace heaptape {

namespace {

constexpr auto kNone = static_cast<std::uint8_t>(PathStrength::None);
constexpr auto kDoubtful = static_cast<std::uint8_t>(PathStrength::Doubtful);
constexpr std::uint32_t kNoBlock = BlockRanks::kNone;
constexpr unsigned kRounds = 8; // of second looks: what is found may hide more

// operator new[] for no elements that have destructors: their number, 0, is all that there is, and the array begins behind it.
bool is_empty_array(const HeapView& heap, const DoubtfulReference& reference) {
  constexpr std::uint64_t kCookie = 8;
  return reference.behind && heap.ranks.bytes(reference.block) == kCookie &&
         MemoryCursor(heap.image).word(heap.ranks.begin(reference.block)) == std::uint64_t{0};
}

} // namespace

// Marks from the strongest references to the weakest, so that each block is gone through once, at its best.
class Marker {
public:
  Marker(const HeapView& heap, Reachability& to) : graph_(heap.graph), state_(to.state_) {
    state_.resize(heap.ranks.size());
    std::fill(state_.begin(), state_.end(), kNone);
  }

  void add(std::uint32_t block, std::uint8_t strength) {
    if (strength >= state_[block]) return;
    state_[block] = strength;
    queues_[strength].push_back(block);
  }

  void run() {
    for (std::uint8_t strength = 0; strength < kNone; ++strength) {
      std::vector<std::uint32_t>& queue = queues_[strength];
      while (!queue.empty()) {
        // Some at a time, so that their cache misses overlap.
        std::array<std::uint32_t, kTogether> blocks;
        std::size_t count = 0;
        for (; count < kTogether && !queue.empty(); queue.pop_back()) {
          if (state_[queue.back()] != strength) continue; // gone through with a stronger one
          blocks[count++] = queue.back();
          graph_.prefetch_edges_of(queue.back());
        }
        for (std::size_t i = 0; i < count; ++i) graph_.prefetch_edge(graph_.first(blocks[i]));
        for (std::size_t i = 0; i < count; ++i) {
          const std::span<const std::uint32_t> targets = graph_.targets(blocks[i]);
          for (std::size_t k = 0; k < std::min<std::size_t>(targets.size(), kTogether); ++k)
            __builtin_prefetch(&state_[targets[k]], 1);
        }
        for (std::size_t i = 0; i < count; ++i) follow(blocks[i], strength);
      }
    }
  }

private:
  static constexpr std::size_t kTogether = 32;

  void follow(std::uint32_t block, std::uint8_t strength) {
    const std::uint32_t end = graph_.first(block + 1);
    for (std::uint32_t edge = graph_.first(block); edge < end; ++edge) {
      if (edge + kTogether < end) __builtin_prefetch(&state_[graph_.target(edge + kTogether)], 1);
      if (strength < state_[graph_.target(edge)])
        add(graph_.target(edge), std::max(strength, static_cast<std::uint8_t>(graph_.kind(edge))));
    }
  }

  const ReferenceGraph& graph_;
  TableVector<std::uint8_t>& state_;
  std::array<std::vector<std::uint32_t>, kNone> queues_;
};

Reachability Reachability::of(const HeapView& heap, const KnownPlaces& known, const ReachOptions& options) {
  Reachability reach;
  reach.options_ = options;
  reach.options_.in_use = {};
  Marker marker(heap, reach);
  const auto add_roots = [&](bool weak) {
    for (const RootWord& word : heap.roots.words()) {
      if (heap.roots.is_weak(word) != weak) continue;
      const EdgeKind kind = word.offset == 0                                   ? EdgeKind::Start
                            : known.holds(heap.ranks, word.block, word.offset) ? EdgeKind::KnownInside
                                                                               : EdgeKind::Inside;
      marker.add(word.block, static_cast<std::uint8_t>(kind));
    }
  };
  add_roots(false);
  for (const std::uint64_t address : options.in_use) {
    const std::uint32_t block = heap.ranks.find(address);
    if (block != kNoBlock) marker.add(block, 0);
  }
  marker.run();
  std::vector<bool> unreached(heap.ranks.size());
  for (std::uint32_t i = 0; i < heap.ranks.size(); ++i) unreached[i] = reach.state_[i] == kNone;
  if (options.stacks) {
    add_roots(true);
    marker.run();
  }

  const auto lost = [&] {
    std::vector<std::uint32_t> blocks;
    for (std::uint32_t i = 0; i < heap.ranks.size(); ++i) {
      if (reach.state_[i] == kNone) blocks.push_back(i);
    }
    return blocks;
  };
  std::vector<std::uint32_t> missing = lost();
  if (!missing.empty() && options.second_look && !options.strict) {
    const SecondLook look(heap, missing);
    TableVector<std::uint8_t> wanted(heap.ranks.size());
    for (std::uint32_t i = 0; i < heap.ranks.size(); ++i) wanted[i] = reach.state_[i] != kNone;
    std::vector<DoubtfulReference> found;
    look.look_at_roots(options.stacks, found);
    for (unsigned round = 0; round < kRounds; ++round) {
      look.look_at_blocks(wanted, found);
      std::fill(wanted.begin(), wanted.end(), std::uint8_t{0});
      for (const DoubtfulReference& reference : found) {
        if (reach.state_[reference.block] != kNone) continue;
        if (is_empty_array(heap, reference)) {
          marker.add(reference.block, static_cast<std::uint8_t>(PathStrength::KnownInside));
          continue;
        }
        marker.add(reference.block, kDoubtful);
        reach.doubtful_.push_back(reference);
      }
      found.clear();
      marker.run();
      bool more = false;
      for (const std::uint32_t block : std::exchange(missing, lost())) {
        if (reach.state_[block] != kNone) wanted[block] = 1, more = true;
      }
      if (!more || missing.empty()) break;
    }
  }
  for (std::uint32_t i = 0; i < heap.ranks.size(); ++i) {
    if (unreached[i] && reach.state_[i] < kDoubtful) reach.state_[i] |= kWeak;
  }
  if (!missing.empty()) reach.find_leaders(heap);
  reach.add_up(heap.ranks);
  return reach;
}

// Twice depth first through what is lost. The first time, a block is finished after all that it leads to, but for cycles; the second
// time, from the last finished to the first, each block not yet seen is one that nothing else leads to, or the first of such a cycle.
void Reachability::find_leaders(const HeapView& heap) {
  struct Step {
    std::uint32_t block, edge;
  };
  const ReferenceGraph& graph = heap.graph;
  leader_.resize(state_.size());
  std::fill(leader_.begin(), leader_.end(), kNoBlock);
  std::vector<std::uint32_t> finished;
  std::vector<Step> steps;
  constexpr std::uint32_t kSeen = kNoBlock - 1;
  for (std::uint32_t block = 0; block < state_.size(); ++block) {
    if (state_[block] != kNone || leader_[block] == kSeen) continue;
    leader_[block] = kSeen;
    steps.push_back({block, graph.first(block)});
    while (!steps.empty()) {
      Step& step = steps.back();
      if (step.edge == graph.first(step.block + 1)) {
        finished.push_back(step.block);
        steps.pop_back();
        continue;
      }
      const std::uint32_t target = graph.target(step.edge++);
      if (state_[target] != kNone || leader_[target] == kSeen) continue;
      leader_[target] = kSeen;
      steps.push_back({target, graph.first(target)});
    }
  }
  std::vector<std::uint32_t> queue;
  for (auto last = finished.rbegin(); last != finished.rend(); ++last) {
    if (leader_[*last] != kSeen) continue;
    leaders_.push_back({*last, {}});
    LeakTotals& indirect = leaders_.back().indirect;
    leader_[*last] = *last;
    queue.push_back(*last);
    while (!queue.empty()) {
      const std::uint32_t block = queue.back();
      queue.pop_back();
      for (const std::uint32_t target : graph.targets(block)) {
        if (leader_[target] != kSeen) continue;
        leader_[target] = *last;
        ++indirect.blocks;
        indirect.bytes += heap.ranks.bytes(target);
        queue.push_back(target);
      }
    }
  }
  std::sort(leaders_.begin(), leaders_.end(),
            [](const LostLeader& a, const LostLeader& b) { return a.block < b.block; });
}

LeakClass Reachability::class_of(std::uint32_t block) const {
  switch (strength(block)) {
  case PathStrength::Start: return LeakClass::Reachable;
  case PathStrength::KnownInside: return options_.strict ? LeakClass::Possibly : LeakClass::Reachable;
  case PathStrength::Inside:
  case PathStrength::Doubtful: return LeakClass::Possibly;
  case PathStrength::None: break;
  }
  return leader_[block] == block ? LeakClass::Definitely : LeakClass::Indirectly;
}

void Reachability::add_up(const BlockRanks& ranks) {
  for (std::uint32_t block = 0; block < state_.size(); ++block) {
    LeakTotals& totals = totals_[static_cast<std::size_t>(class_of(block))];
    ++totals.blocks;
    totals.bytes += ranks.bytes(block);
    if (!only_from_stacks(block)) continue;
    ++from_stacks_.blocks;
    from_stacks_.bytes += ranks.bytes(block);
  }
}

} // namespace heaptape
