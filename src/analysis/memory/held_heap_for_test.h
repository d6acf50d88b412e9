// A made-up heap with roots that hold it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/memory/heap_for_test.h"
#include "analysis/memory/heap_view.h"

namespace heaptape {

inline constexpr std::uint64_t kGlobals = 0x1'0000, kStacks = 0x7000'0000'0000;

// A heap, variables, and threads with a stack each.
struct HeldHeap {
  HeapForTest heap;
  std::vector<MappedRange> regions{{kGlobals, kGlobals + 0x4000, 0, 1, kMapRead | kMapWrite}};
  std::vector<std::string> names{"", "/bin/victim", "[stack]"};
  std::vector<ThreadState> threads;
  std::vector<std::uint64_t> next_slot;
  std::uint64_t next_global = kGlobals;
  std::optional<ReferenceGraph> graph;
  std::optional<Roots> roots;

  std::uint32_t thread() {
    const std::uint64_t stack = kStacks + threads.size() * 0x10000;
    regions.push_back({stack, stack + 0x2000, 0, 2, kMapRead | kMapWrite});
    threads.emplace_back().registers[ThreadState::Rsp] = stack + 0x1000;
    next_slot.push_back(stack + 0x1000);
    return static_cast<std::uint32_t>(threads.size() - 1);
  }
  void global(std::uint32_t block) { heap.pages.put_word(next_global, heap.at(block)), next_global += 8; }
  void slot(std::uint32_t thread, std::uint32_t block) {
    heap.pages.put_word(next_slot[thread], heap.at(block));
    next_slot[thread] += 8;
  }
  HeapView view(const GraphOptions& options = {}) {
    RootFacts facts;
    facts.regions = regions;
    facts.names = names;
    facts.threads = threads;
    graph.emplace(heap.graph(options));
    roots.emplace(Roots::of(facts, heap.image(), heap.ranks()));
    return {heap.image(), heap.ranks(), *graph, *roots, threads};
  }
};

} // namespace heaptape
