#include "report/contents/opened_snapshot.h"

#include <utility>

namespace heaptape {

OpenedSnapshot::OpenedSnapshot(const TapeReader& tape, const Index& index, StackNames& names, std::size_t snapshot)
    : tape_(tape), index_(index), names_(names), memory_(tape, snapshot, {}) {}

HeapCursor& OpenedSnapshot::blocks() {
  if (!blocks_) {
    blocks_.emplace(tape_, index_);
    blocks_->seek_event(facts().event);
  }
  return *blocks_;
}

Result<SnapshotHeap*> OpenedSnapshot::heap() {
  if (!heap_) {
    Result<std::unique_ptr<SnapshotHeap>> made = SnapshotHeap::make(tape_, memory_, blocks());
    if (!made) return made.error();
    heap_ = std::move(made).value();
  }
  return heap_.get();
}

Result<const BlockTypes*> OpenedSnapshot::types() {
  if (!types_) {
    const Result<SnapshotHeap*> made = heap();
    if (!made) return made.error();
    types_ = BlockTypes::of(*made.value(), names_);
  }
  return &*types_;
}

} // namespace heaptape
