#include "analysis/index/total_peak.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace heaptape {

bool TotalPeakFinder::counts(const MappingPiece& piece) {
  if (!piece.anonymous || piece.reserved || with_blocks_.contains(piece.event)) return false;
  return !is_allocators_ || !is_allocators_(piece.stack);
}

TotalPeakFinder::StackRow& TotalPeakFinder::row_before_change(StackId stack) {
  StackRow& row = stacks_[stack];
  if (row.saved.epoch != epoch_) row.saved = {row.open, epoch_};
  return row;
}

void TotalPeakFinder::opened(const MappingPiece& piece) {
  if (!counts(piece)) return;
  active_ = true;
  open_[piece.begin] = {piece.end, piece.event, piece.stack};
  row_before_change(piece.stack).open += Cost::of(piece.bytes());
  open_bytes_ += piece.bytes();
  clear_bytes_ = 0;
}

void TotalPeakFinder::closed(const MappingPiece& piece) {
  const auto found = open_.find(piece.begin);
  if (found == open_.end()) return;
  row_before_change(piece.stack).open -= Cost::of(piece.bytes());
  open_bytes_ -= piece.bytes();
  open_.erase(found);
  clear_bytes_ = 0;
}

void TotalPeakFinder::look_for_mapping(std::uint64_t address) {
  auto above = open_.upper_bound(address);
  clear_begin_ = 0;
  if (above != open_.begin()) {
    const auto below = std::prev(above);
    const auto [end, event, stack] = below->second;
    if (address < end) {
      const Cost cost = Cost::of(end - below->first);
      row_before_change(stack).open -= cost;
      open_bytes_ -= cost.bytes;
      with_blocks_.insert(event);
      above = open_.erase(below);
      if (above != open_.begin()) clear_begin_ = std::prev(above)->second.end;
    } else {
      clear_begin_ = end;
    }
  }
  clear_bytes_ = (above == open_.end() ? std::numeric_limits<std::uint64_t>::max() : above->first) - clear_begin_;
}

void TotalPeakFinder::start(std::vector<Cost> at_heap_peak, std::uint64_t peak_bytes, std::uint64_t event,
                            std::uint64_t time_us) {
  rows_.reserve(at_heap_peak.size());
  for (const Cost& cost : at_heap_peak) rows_.push_back({cost, epoch_});
  peak_.bytes = peak_.heap_bytes = peak_bytes;
  peak_.event = event;
  peak_.time_us = time_us;
}

void TotalPeakFinder::finish_rows() {
  for (const auto& [stack, row] : stacks_) {
    const Cost at_peak = row.saved.epoch == epoch_ ? row.saved.cost : row.open;
    if (at_peak != Cost{}) peak_.mappings.push_back({stack, at_peak});
  }
  std::sort(peak_.blocks.begin(), peak_.blocks.end(),
            [](const OwnerShare& a, const OwnerShare& b) { return a.owner < b.owner; });
  std::sort(peak_.mappings.begin(), peak_.mappings.end(),
            [](const StackShare& a, const StackShare& b) { return a.stack < b.stack; });
}

} // namespace heaptape
