// The heap at a snapshot with all that was found out about it, for questions that need more than one part of it.
#pragma once

#include "analysis/memory/block_ranks.h"
#include "analysis/memory/memory_image.h"
#include "analysis/memory/reference_graph.h"
#include "analysis/memory/roots.h"

namespace heaptape {

struct HeapView {
  const MemoryImage& image;
  const BlockRanks& ranks;
  const ReferenceGraph& graph;
  const Roots& roots;
  std::span<const ThreadState> threads{}; // as the roots were made with
};

} // namespace heaptape
