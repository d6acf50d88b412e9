#include "analysis/memory/loss_causes.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace heaptape {

namespace {

struct Why {
  WeakReference reference = WeakReference::Inside;
  std::uint32_t offset = 0;
};

// How many blocks of a definite cause lead back to it.
class Cycles {
public:
  Cycles(const HeapView& heap, const Reachability& reach) : graph_(heap.graph), reach_(reach) {}

  std::uint32_t around(std::uint32_t leader) {
    collect_references(leader);
    met_[leader] = 1;
    queue_.assign(1, leader);
    std::uint32_t count = 0;
    while (!queue_.empty()) {
      const std::uint32_t block = queue_.back();
      queue_.pop_back();
      ++count;
      const auto first = std::ranges::lower_bound(references_, std::pair{block, std::uint32_t{0}});
      for (auto reference = first; reference != references_.end() && reference->first == block; ++reference) {
        if (std::exchange(met_[reference->second], 1) == 0) queue_.push_back(reference->second);
      }
    }
    return count;
  }

private:
  // Between the leader and the blocks that are lost through it.
  void collect_references(std::uint32_t leader) {
    met_.resize(graph_.blocks());
    references_.clear();
    std::vector<std::uint32_t> walked{leader};
    met_[leader] = 1;
    for (std::size_t i = 0; i < walked.size(); ++i) {
      for (const std::uint32_t target : graph_.targets(walked[i])) {
        if (reach_.leader_of(target) != leader || target == walked[i]) continue;
        references_.emplace_back(target, walked[i]);
        if (std::exchange(met_[target], 1) == 0) walked.push_back(target);
      }
    }
    std::ranges::sort(references_);
    for (const std::uint32_t block : walked) met_[block] = 0;
  }

  const ReferenceGraph& graph_;
  const Reachability& reach_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> references_; // target, source
  std::vector<std::uint32_t> queue_;
  TableVector<std::uint8_t> met_;
};

// The references from what is reachable to what is possibly lost: the first one to each block.
std::unordered_map<std::uint32_t, Why> weak_references(const HeapView& heap, const Reachability& reach) {
  std::unordered_map<std::uint32_t, Why> weak;
  const auto is_possible = [&](std::uint32_t block) { return reach.class_of(block) == LeakClass::Possibly; };
  for (const RootWord& word : heap.roots.words()) {
    if (heap.roots.is_weak(word) && !reach.options().stacks) continue;
    if (word.offset != 0 && is_possible(word.block)) weak.try_emplace(word.block, Why{.offset = word.offset});
  }
  std::uint32_t source = 0;
  heap.graph.for_each_interior([&](std::uint32_t edge, std::uint32_t target, std::uint32_t offset) {
    while (heap.graph.first(source + 1) <= edge) ++source;
    if (is_possible(target) && reach.class_of(source) == LeakClass::Reachable)
      weak.try_emplace(target, Why{.offset = offset});
  });
  for (const DoubtfulReference& reference : reach.doubtful())
    weak.try_emplace(reference.block, Why{reference.behind ? WeakReference::Behind : WeakReference::Unaligned});
  return weak;
}

void add_possible(const HeapView& heap, const Reachability& reach, std::vector<LossCause>& causes) {
  const std::unordered_map<std::uint32_t, Why> weak = weak_references(heap, reach);
  std::vector<std::uint32_t> entries;
  for (const auto& [block, why] : weak) entries.push_back(block);
  std::ranges::sort(entries);
  TableVector<std::uint8_t> met(heap.ranks.size());
  for (const std::uint32_t entry : entries) met[entry] = 1;
  std::vector<std::uint32_t> queue;
  const auto follow = [&](std::uint32_t entry) {
    LeakTotals indirect;
    queue.assign(1, entry);
    while (!queue.empty()) {
      const std::uint32_t block = queue.back();
      queue.pop_back();
      for (const std::uint32_t target : heap.graph.targets(block)) {
        if (met[target] != 0 || reach.class_of(target) != LeakClass::Possibly) continue;
        met[target] = 1;
        ++indirect.blocks;
        indirect.bytes += heap.ranks.bytes(target);
        queue.push_back(target);
      }
    }
    return indirect;
  };
  for (const std::uint32_t entry : entries) {
    const Why why = weak.at(entry);
    causes.push_back({.block = entry,
                      .definite = false,
                      .indirect = follow(entry),
                      .reference = why.reference,
                      .offset = why.offset});
  }
}

} // namespace

std::vector<LossCause> loss_causes(const HeapView& heap, const Reachability& reach) {
  std::vector<LossCause> causes;
  Cycles cycles(heap, reach);
  for (const LostLeader& leader : reach.leaders()) {
    const std::uint32_t cycle = leader.indirect.blocks == 0 ? 1 : cycles.around(leader.block);
    causes.push_back({.block = leader.block, .cycle = cycle, .indirect = leader.indirect});
  }
  if (reach.totals(LeakClass::Possibly).blocks != 0) add_possible(heap, reach, causes);
  return causes;
}

} // namespace heaptape
