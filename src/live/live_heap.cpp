#include "live/live_heap.h"

#include <algorithm>

namespace heaptape {

std::uint32_t LiveHeap::add_place(StackId stack) {
  if (stack.value >= places_.size()) places_.resize(std::size_t{stack.value} + 1);
  tallies_.push_back({.stack = stack});
  is_changed_.push_back(0);
  return (places_[stack.value] = static_cast<std::uint32_t>(tallies_.size())) - 1;
}

void LiveHeap::end(const LiveBlock& block) {
  changing(static_cast<std::uint32_t>(block.allocated_at)).freed += Cost::of(block.size);
  freed_ += Cost::of(block.size);
  churn_bytes_ += block.size;
}

void LiveHeap::make(std::uint64_t address, std::uint64_t size, StackId stack) {
  const std::uint32_t place = place_of(stack);
  const LiveBlock block{size, place};
  if (!live_.insert(address, block)) [[unlikely]] {
    // The release of the block that was there is lost.
    LiveBlock stale;
    if (live_.take(address, stale)) end(stale);
    live_.insert(address, block);
  }
  changing(place).allocated += Cost::of(size);
  allocated_ += Cost::of(size);
  churn_bytes_ += size;
}

void LiveHeap::apply(const Event& event) {
  ++events_;
  LiveBlock block;
  if (is_release(event.kind)) {
    if (event.address != 0 && live_.take(event.address, block)) end(block);
  } else if (is_allocation(event.kind)) {
    if (event.address == 0) return;
    make(event.address, event.size, event.stack);
    note_peak();
  } else if (is_reallocation(event.kind)) {
    // The old block leaves the map first, for the new one may have its address; a peak is what is there after both.
    if (event.old_address != 0 && !event.old_released && live_.take(event.old_address, block)) end(block);
    if (event.address != 0) make(event.address, event.size, event.stack);
    note_peak();
  }
}

std::vector<StackTally> LiveHeap::take_changes() {
  std::vector<StackTally> changes;
  changes.reserve(changed_.size());
  for (const Changed& changed : changed_) {
    const StackTally& now = tallies_[changed.place];
    changes.push_back({now.stack, now.allocated - changed.allocated, now.freed - changed.freed});
    is_changed_[changed.place] = 0;
  }
  changed_.clear();
  churn_bytes_ = 0;
  return changes;
}

std::vector<StackTally> LiveHeap::largest(std::size_t most) const {
  std::vector<std::uint32_t> order(tallies_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(std::min(most, order.size()));
  std::partial_sort(order.begin(), middle, order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const std::uint64_t left = tallies_[a].live().bytes, right = tallies_[b].live().bytes;
    return left != right ? left > right : a < b;
  });
  std::vector<StackTally> found;
  for (auto place = order.begin(); place != middle; ++place) {
    if (tallies_[*place].live().blocks != 0) found.push_back(tallies_[*place]);
  }
  return found;
}

} // namespace heaptape
