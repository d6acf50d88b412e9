// All references from block to block, with the places of the words that make them: each piece of memory is read once.
#pragma once

#include <cstdint>

#include "analysis/memory/edge_cursor.h"

namespace heaptape {

// In order: edge(block, WalkedEdge) for each reference, then done(block) for each block, also for those without any. Ends early when
// `edge` gives false.
template <class Edge, class Done>
void walk_edges(const HeapView& heap, Edge edge, Done done) {
  EdgeCursor edges(heap);
  for (std::uint32_t block = 0; block < heap.ranks.size(); ++block) {
    if (heap.graph.first(block) != heap.graph.first(block + 1)) {
      edges.go_to(block);
      while (const auto next = edges.next())
        if (!edge(block, *next)) return;
    }
    done(block);
  }
}

} // namespace heaptape
