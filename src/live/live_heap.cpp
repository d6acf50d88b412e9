#include "live/live_heap.h"

#include <algorithm>

namespace heaptape {

struct LiveHeap::Listener : BlockListener {
  LiveHeap& heap;

  explicit Listener(LiveHeap& of) : heap(of) {}
  [[gnu::always_inline]] void made(const LiveBlock& block) {
    heap.changing(block).allocated += Cost::of(block.size);
    heap.churn_bytes_ += block.size;
  }
  [[gnu::always_inline]] void ended(const LiveBlock& block, const Event&) {
    heap.changing(block).freed += Cost::of(block.size);
    heap.churn_bytes_ += block.size;
  }
  void given_up(const LiveBlock& block, const Event& event) { ended(block, event); }
};

std::uint32_t LiveHeap::BlocksByStack::add_row(StackId stack) {
  if (stack.value >= rows.size()) rows.resize(std::size_t{stack.value} + 1);
  tallies.push_back({.stack = stack});
  is_changed.push_back(0);
  return (rows[stack.value] = static_cast<std::uint32_t>(tallies.size())) - 1;
}

void LiveHeap::apply(const Event& event) {
  Listener listener(*this);
  ledger_.apply(event, listener);
}

std::vector<StackTally> LiveHeap::take_changes() {
  std::vector<StackTally> changes;
  changes.reserve(changed_.size());
  for (const Changed& changed : changed_) {
    const StackTally& now = tallies()[changed.row];
    changes.push_back({now.stack, now.allocated - changed.allocated, now.freed - changed.freed});
    ledger_.store().is_changed[changed.row] = 0;
  }
  changed_.clear();
  churn_bytes_ = 0;
  return changes;
}

std::vector<StackTally> LiveHeap::largest(std::size_t most, TableSort sort) const {
  const auto figure = [&](std::uint32_t row) {
    const StackTally& tally = tallies()[row];
    return sort == TableSort::Allocated ? tally.allocated.bytes
           : sort == TableSort::Blocks  ? tally.live().blocks
                                        : tally.live().bytes;
  };
  std::vector<std::uint32_t> order(tallies().size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(std::min(most, order.size()));
  std::partial_sort(order.begin(), middle, order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const std::uint64_t left = figure(a), right = figure(b);
    return left != right ? left > right : a < b;
  });
  std::vector<StackTally> found;
  for (auto row = order.begin(); row != middle; ++row) {
    const StackTally& tally = tallies()[*row];
    const Cost counted = sort == TableSort::Allocated ? tally.allocated : tally.live();
    if (counted.blocks != 0) found.push_back(tally);
  }
  return found;
}

} // namespace heaptape
