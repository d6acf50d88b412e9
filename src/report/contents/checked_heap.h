// The heap of glibc's malloc at a snapshot, checked: finds out what check_glibc_heap() has to know of the program, and whether it is
// this malloc that the program uses at all.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/heap/allocator_code.h"
#include "analysis/memory/block_ranks.h"
#include "analysis/memory/glibc_check.h"
#include "analysis/moment/heap_cursor.h"
#include "base/result.h"
#include "report/contents/snapshot_memory.h"
#include "report/contents/snapshot_stacks.h"
#include "tape/reader.h"

namespace heaptape {

struct CheckedHeap {
  BlockRanks ranks; // the live blocks; their groups are stacks
  HeapCheck check{};
  Allocator allocator = Allocator::Glibc; // by the names of the program's libraries
  bool is_glibcs = false;                 // else the blocks are another allocator's, and `check` says nothing
  bool is_hidden = false;                 // or what its variables held is not known
  bool all_blocks_known = true;           // no events were lost; else live blocks count for nothing
  // Threads that were in malloc, free and their like: numbers in facts().threads. What they were changing is not judged, unless it was
  // there that the program was about to die.
  std::vector<std::uint32_t> allocating{};
  std::vector<std::uint32_t> dying{};
};

// `heap` stands at the snapshot's event; `events_missing`: a part of the tape's events cannot be read. Nothing but the result is needed
// afterwards. Fails when the heap is too large.
Result<CheckedHeap> check_heap(const TapeReader& tape, SnapshotMemory& memory, HeapCursor& heap, SnapshotStacks& stacks,
                               bool events_missing);

} // namespace heaptape
