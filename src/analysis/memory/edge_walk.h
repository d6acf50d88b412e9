// All references from block to block, with the places of the words that make them. The graph knows what leads where, in the order of the
// words, but not where they lie; this reads it from the blocks, each piece of memory once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "analysis/memory/block_walk.h"
#include "analysis/memory/heap_view.h"

namespace heaptape {

struct WalkedEdge {
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{};
  std::uint32_t target = 0;
  std::uint64_t offset = kUnknown; // of the word in its block; unknown when it cannot be read any more
  std::uint64_t inside = 0;        // where in the target it leads
};

// In order: edge(block, WalkedEdge) for each reference, then done(block) for each block, also for those without any. Ends early when
// `edge` gives false.
template <class Edge, class Done>
void walk_edges(const HeapView& heap, Edge edge, Done done) {
  constexpr std::uint64_t kWord = sizeof(std::uint64_t);
  const BlockRanks& ranks = heap.ranks;
  const ReferenceGraph& graph = heap.graph;
  const PointerForm form = graph.options().form;
  const auto leads_to = [&](std::uint64_t address, std::uint32_t block) {
    return address == ranks.begin(block) || (address > ranks.begin(block) && address < ranks.end(block));
  };
  std::uint32_t block = 0, next = 0; // the first ones not done
  bool goes_on = true;
  const auto finish_before = [&](std::uint32_t end) {
    for (; block < end && goes_on; ++block) {
      for (next = std::max(next, graph.first(block)); next < graph.first(block + 1) && goes_on; ++next)
        goes_on = edge(block, WalkedEdge{.target = graph.target(next)});
      if (goes_on) done(block);
    }
  };
  MemoryCursor cursor(heap.image);
  const auto leads_on = [&](std::uint32_t one) { return graph.first(one) != graph.first(one + 1); };
  walk_blocks(cursor, ranks, 0, ranks.size(), leads_on,
              [&](std::uint32_t here, std::uint64_t address, std::span<const std::byte> bytes) {
                finish_before(here);
                next = std::max(next, graph.first(here));
                for (std::size_t at = -address % kWord;
                     at + kWord <= bytes.size() && next < graph.first(here + 1) && goes_on;) {
                  std::uint64_t word;
                  std::memcpy(&word, &bytes[at], kWord);
                  const std::uint32_t target = graph.target(next);
                  const bool is_plain = leads_to(word, target);
                  if (!is_plain && !leads_to(form.address(word), target)) {
                    at += kWord;
                    continue;
                  }
                  goes_on =
                      edge(here, WalkedEdge{.target = target,
                                            .offset = address + at - ranks.begin(here),
                                            .inside = (is_plain ? word : form.address(word)) - ranks.begin(target)});
                  ++next;
                  // A word that is disguised may lead to a second block as it is.
                  if (form == PointerForm() || next == graph.first(here + 1) || graph.target(next) == target)
                    at += kWord;
                }
                return goes_on;
              });
  finish_before(ranks.size());
}

} // namespace heaptape
