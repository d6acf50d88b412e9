// A snapshot of a tape with all that is known about it. Each part is worked out when it is first asked for. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "analysis/index/index.h"
#include "analysis/moment/heap_cursor.h"
#include "base/result.h"
#include "report/contents/block_types.h"
#include "report/contents/snapshot_heap.h"
#include "report/contents/snapshot_memory.h"
#include "report/names/stack_names.h"
#include "tape/reader.h"

namespace heaptape {

class OpenedSnapshot {
public:
  // `snapshot` is a number in tape.snapshots(). The others must outlive it.
  OpenedSnapshot(const TapeReader& tape, const Index& index, StackNames& names, std::size_t snapshot);

  SnapshotMemory& memory() { return memory_; }
  const MemorySnapshot& facts() const { return memory_.facts(); }
  // The heap as the tape's events tell it, at the snapshot's event; until release_blocks().
  HeapCursor& blocks();
  // The memory of blocks() is not needed for what follows.
  void release_blocks() { blocks_.reset(); }
  Result<SnapshotHeap*> heap();
  Result<const BlockTypes*> types();

private:
  const TapeReader& tape_;
  const Index& index_;
  StackNames& names_;
  SnapshotMemory memory_;
  std::optional<HeapCursor> blocks_;
  std::unique_ptr<SnapshotHeap> heap_;
  std::optional<BlockTypes> types_;
};

} // namespace heaptape
