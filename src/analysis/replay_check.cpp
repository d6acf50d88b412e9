#include "analysis/replay_check.h"

#include "wire/event_kind.h"

namespace heaptape {

void ReplayCheck::report(ReplayFinding finding) {
  ++counts_[static_cast<std::size_t>(finding.fault)];
  if (findings_.size() < kMostFindings) findings_.push_back(finding);
}

void ReplayCheck::add(const Event& event) {
  if (events_ != 0 && event.number != last_number_ + 1) {
    ++gaps_;
    blocks_.clear();
  }
  last_number_ = event.number;
  ++events_;
  if (is_allocation(event.kind)) {
    make(event);
  } else if (is_release(event.kind)) {
    release(event, event.address);
  } else if (is_reallocation(event.kind)) {
    if (event.old_address != 0 && !event.old_released) release(event, event.old_address);
    if (event.address != 0) make(event);
  }
}

void ReplayCheck::make(const Event& event) {
  // The blocks in the way are given up, each reported: the newest owner is the likely one.
  while (const BlockIndex::Block* other = blocks_.find_overlap(event.address, event.size)) {
    report({ReplayFault::Overlap, event.number, other->event, event.address, event.size});
    blocks_.erase(other->address);
  }
  blocks_.insert({event.address, event.size, event.number});
}

void ReplayCheck::release(const Event& event, std::uint64_t address) {
  if (blocks_.release(address, event.number)) return;
  if (const BlockIndex::Block* around = blocks_.find_overlap(address, 1)) {
    report({ReplayFault::InteriorRelease, event.number, around->event, address, 0});
  } else if (const std::uint64_t earlier = blocks_.released_by(address); earlier != 0) {
    report({ReplayFault::DoubleRelease, event.number, earlier, address, 0});
  } else {
    ++unknown_releases_;
  }
}

} // namespace heaptape
