// What a heap consists of, by the types of its blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "report/contents/block_types.h"
#include "report/contents/snapshot_heap.h"

namespace heaptape {

struct TypeSum {
  std::uint32_t type = 0; // a number in BlockTypes
  std::uint64_t blocks = 0, bytes = 0;
  std::uint64_t retained_bytes = 0;
  std::uint64_t example = 0; // address of the first of its blocks
};

// Types that have blocks, most bytes first. What they retain takes about as long as marking, and is left out unless `retained`.
std::vector<TypeSum> type_sums(SnapshotHeap& heap, const BlockTypes& types, bool retained = true);

} // namespace heaptape
