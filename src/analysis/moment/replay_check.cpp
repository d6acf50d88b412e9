#include "analysis/moment/replay_check.h"

#include "wire/event_kind.h"

namespace heaptape {

void ReplayCheck::report(ReplayFinding finding) {
  ++counts_[static_cast<std::size_t>(finding.fault)];
  if (findings_.size() < kMostFindings) findings_.push_back(finding);
}

void ReplayCheck::inherit(const std::vector<InheritedBlock>& blocks) {
  for (const InheritedBlock& block : blocks) {
    if (inherited_.find_overlap(block.address, block.size) == nullptr)
      inherited_.insert({block.address, block.size, 0});
  }
}

void ReplayCheck::add(const Event& event) {
  if (events_ != 0 && event.number != last_number_ + 1) {
    ++gaps_;
    blocks_.clear();
    inherited_.clear();
    pools_.clear();
  }
  last_number_ = event.number;
  ++events_;
  if (is_allocation(event.kind)) {
    make(blocks_, event);
  } else if (is_release(event.kind)) {
    if (!release(blocks_, event, event.address)) ++unknown_releases_;
  } else if (is_reallocation(event.kind)) {
    const bool ends = event.old_address != 0 && !event.old_released;
    if (ends && !release(blocks_, event, event.old_address)) ++unknown_releases_;
    if (event.address != 0) make(blocks_, event);
  } else if (is_pool(event.kind)) {
    add_pool(event);
  }
}

void ReplayCheck::add_pool(const Event& event) {
  if (pool_of(event) == 0 || incomplete_pools_.contains(pool_of(event))) return;
  BlockIndex& blocks = pools_[pool_of(event)];
  if (event.kind == EventKind::PoolAlloc)
    make(blocks, event);
  else if (event.address == 0)
    blocks.clear();
  else
    (void)release(blocks, event, event.address);
}

void ReplayCheck::make(BlockIndex& blocks, const Event& event) {
  // The blocks in the way are given up, each reported: the newest owner is the likely one.
  while (const BlockIndex::Block* other = blocks.find_overlap(event.address, event.size)) {
    report({ReplayFault::Overlap, event.number, other->event, event.address, event.size, pool_of(event)});
    blocks.erase(other->address);
  }
  blocks.insert({event.address, event.size, event.number});
  if (&blocks != &blocks_ || inherited_.size() == 0) return;
  while (const BlockIndex::Block* older = inherited_.find_overlap(event.address, event.size))
    inherited_.erase(older->address);
}

// False: the tape knows nothing of such a block.
bool ReplayCheck::release(BlockIndex& blocks, const Event& event, std::uint64_t address) {
  if (blocks.release(address, event.number)) return true;
  if (const BlockIndex::Block* around = blocks.find_overlap(address, 1)) {
    report({ReplayFault::InteriorRelease, event.number, around->event, address, 0, pool_of(event)});
  } else if (const std::uint64_t earlier = blocks.released_by(address); earlier != 0) {
    report({ReplayFault::DoubleRelease, event.number, earlier, address, 0, pool_of(event)});
  } else if (&blocks == &blocks_ && inherited_.release(address, event.number)) {
    return true;
  } else if (const std::uint64_t before = &blocks == &blocks_ ? inherited_.released_by(address) : 0; before != 0) {
    report({ReplayFault::DoubleRelease, event.number, before, address, 0, 0});
  } else {
    return false;
  }
  return true;
}

} // namespace heaptape
