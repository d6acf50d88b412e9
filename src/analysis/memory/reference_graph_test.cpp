#include "analysis/memory/reference_graph.h"

#include <gtest/gtest.h>

#include <random>

#include "analysis/memory/heap_for_test.h"

namespace heaptape {
namespace {

std::vector<std::uint32_t> targets(const ReferenceGraph& graph, std::uint32_t block) {
  return {graph.targets(block).begin(), graph.targets(block).end()};
}

TEST(ReferenceGraph, HasAnEdgeForEachWordThatLeadsToAnotherBlock) {
  HeapForTest heap;
  const std::uint32_t a = heap.add(64), b = heap.add(24), c = heap.add(0), d = heap.add(100);
  heap.point(a, 0, b);
  heap.point(a, 16, d, 40);
  heap.point(a, 24, a, 8); // itself
  heap.point(a, 56, c);
  heap.point(d, 88, a);
  heap.point(d, 97, b); // not aligned, and half of it lies outside
  const ReferenceGraph graph = heap.graph();
  EXPECT_EQ(graph.blocks(), 4u);
  EXPECT_EQ(targets(graph, a), (std::vector{b, d, c}));
  EXPECT_EQ(targets(graph, b), std::vector<std::uint32_t>());
  EXPECT_EQ(targets(graph, d), std::vector{a});
  EXPECT_EQ(graph.kind(0), EdgeKind::Start);
  EXPECT_EQ(graph.kind(1), EdgeKind::Inside);
  std::size_t interior = 0;
  graph.for_each_interior([&](std::uint32_t edge, std::uint32_t target, std::uint32_t offset) {
    ++interior;
    EXPECT_EQ(edge, 1u);
    EXPECT_EQ(target, d);
    EXPECT_EQ(offset, 40u);
  });
  EXPECT_EQ(interior, 1u);
}

TEST(ReferenceGraph, IsTheSameWithAnyNumberOfThreadsAndAnySizeOfChunks) {
  HeapForTest heap;
  std::mt19937_64 random(3);
  for (int i = 0; i < 600; ++i) heap.add(random() % 20 == 0 ? random() % 20000 : 8 + random() % 200);
  std::vector<std::vector<std::uint32_t>> expected(600);
  for (std::uint32_t from = 0; from < 600; ++from) {
    for (std::uint64_t at = 0; at + 8 <= heap.blocks[from].size; at += 8) {
      if (random() % 4 != 0) continue;
      const auto to = static_cast<std::uint32_t>(random() % 600);
      heap.point(from, at, to, heap.blocks[to].size == 0 ? 0 : random() % heap.blocks[to].size);
      if (to != from) expected[from].push_back(to);
    }
  }
  for (const auto& [threads, pages] : {std::pair(1u, 64u), std::pair(1u, 1u), std::pair(3u, 2u)}) {
    heap.pages.pages_per_chunk = pages;
    const ReferenceGraph graph = heap.graph({.threads = threads});
    for (std::uint32_t i = 0; i < 600; ++i) ASSERT_EQ(targets(graph, i), expected[i]) << i;
  }
}

TEST(ReferenceGraph, FollowsDisguisedPointersWhenToldHow) {
  HeapForTest heap;
  const std::uint32_t a = heap.add(64), b = heap.add(64), c = heap.add(64);
  heap.pages.put_word(heap.at(a), heap.at(b) | std::uint64_t{0x5a} << 56);
  heap.pages.put_word(heap.at(a, 8), heap.at(c) >> 4);
  heap.point(a, 16, b);
  EXPECT_EQ(targets(heap.graph(), a), std::vector{b});
  EXPECT_EQ(targets(heap.graph({.form = {.mask = ~std::uint64_t{} >> 8}}), a), (std::vector{b, b}));
  EXPECT_EQ(targets(heap.graph({.form = {.shift = 4}}), a), (std::vector{c, b}));
}

TEST(ReferenceGraph, LeavesOutTheListOfPythonsCollector) {
  HeapForTest heap;
  const std::uint32_t type = heap.add(400), a = heap.add(64), b = heap.add(64);
  heap.be_type(type);
  for (const auto& [object, other] : {std::pair(a, b), std::pair(b, a)}) {
    heap.point(object, 0, other);
    heap.pages.put_word(heap.at(object, 8), heap.at(other) | 1);
    heap.pages.put_word(heap.at(object, 16), 2);
    heap.point(object, 24, type);
  }
  heap.point(b, 32, a, 16);
  EXPECT_EQ(targets(heap.graph(), a), (std::vector{b, b, type}));
  const ReferenceGraph graph = heap.graph({.cpython = true});
  EXPECT_EQ(targets(graph, a), std::vector{type});
  EXPECT_EQ(targets(graph, b), (std::vector{type, a}));
}

TEST(ReferenceGraph, LeavesOutTheCollectorsListAlsoBehindTwoWordsAboutAttributes) {
  HeapForTest heap;
  const std::uint32_t type = heap.add(400), values = heap.add(64), a = heap.add(80), b = heap.add(64),
                      items = heap.add(64);
  heap.be_type(type);
  heap.point(a, 0, values, 8);
  heap.point(a, 16, b);
  heap.point(a, 24, b);
  heap.pages.put_word(heap.at(a, 32), 1);
  heap.point(a, 40, type);
  heap.point(b, 0, a, 16);
  heap.point(b, 8, a, 16);
  heap.pages.put_word(heap.at(b, 16), 1);
  heap.point(b, 24, type);
  for (std::uint64_t i = 0; i < 4; ++i) heap.point(items, 8 * i, b, 16); // an array of objects, not an object
  const ReferenceGraph graph = heap.graph({.cpython = true});
  EXPECT_EQ(targets(graph, a), (std::vector{values, type}));
  EXPECT_EQ(targets(graph, b), std::vector{type});
  EXPECT_EQ(targets(graph, items).size(), 4u);
}

TEST(ReferenceGraph, LeavesOutWhatPythonsWeakReferencesAndObjectsThatAreNotInUseLeadTo) {
  HeapForTest heap;
  const std::uint32_t type = heap.add(400), weak_type = heap.add(400), weak = heap.add(88), kept = heap.add(64),
                      next = heap.add(64), used = heap.add(64);
  heap.be_type(type);
  heap.be_type(weak_type);
  heap.point(weak_type, 8, type);
  heap.pages.put_word(heap.at(weak_type, 200), 0x006665726b616577); // "weakref"
  heap.pages.put_word(heap.at(weak), 0x1000'0000);                  // heads of lists
  heap.pages.put_word(heap.at(weak, 8), 0x1000'0000);
  heap.pages.put_word(heap.at(weak, 16), 1);
  heap.point(weak, 24, weak_type);
  heap.point(weak, 32, used, 16);
  heap.point(weak, 40, next); // the function to be called
  for (const std::uint32_t object : {kept, next, used}) heap.point(object, 24, type);
  heap.pages.put_word(heap.at(used, 16), 1);
  heap.point(kept, 40, next, 16);
  heap.point(kept, 48, used, 16);
  const ReferenceGraph graph = heap.graph({.cpython = true});
  EXPECT_EQ(targets(graph, weak), (std::vector{weak_type, next}));
  EXPECT_EQ(targets(graph, kept), (std::vector{type, next}));
  EXPECT_EQ(targets(heap.graph(), kept), (std::vector{type, next, used}));
}

TEST(ReferenceGraph, FollowsLinksOfOtherListsInAProgramThatEmbedsPython) {
  HeapForTest heap;
  const std::uint32_t type = heap.add(400), a = heap.add(64), b = heap.add(64), text = heap.add(64);
  heap.be_type(type);
  for (const auto& [object, other] : {std::pair(a, b), std::pair(b, a)}) {
    heap.point(object, 0, other);
    heap.point(object, 8, other);
    heap.pages.put_word(heap.at(object, 16), 2);
    heap.point(object, 24, text);
    heap.point(text, 8, text); // an empty ring
  }
  EXPECT_EQ(targets(heap.graph({.cpython = true}), a), (std::vector{b, b, text}));
}

TEST(ReferenceGraph, SurvivesBlocksThatOverlapAndMemoryThatIsMissing) {
  HeapForTest heap;
  const std::uint32_t a = heap.add(64), b = heap.add(9000);
  heap.point(a, 0, b);
  heap.blocks.push_back({heap.at(b, 100), ~std::uint64_t{} >> 20, 0});
  heap.blocks.push_back({0x1000, 0x10'0000'0000, 0});
  heap.blocks.push_back({0x7000'0000'0000, 0x100'0000, 0});
  heap.pages.damaged = 2;
  const ReferenceGraph graph = heap.graph({.threads = 2});
  EXPECT_EQ(graph.blocks(), 5u);
  EXPECT_EQ(graph.edges(), 1u);
  const BlockRanks none = BlockRanks::of({}).value();
  EXPECT_EQ(ReferenceGraph::of(heap.image(), none).value().edges(), 0u);
}

TEST(ReferenceGraph, ReadsOnePageOfMemoryThatRepeatsAPointer) {
  HeapForTest heap;
  const std::uint32_t a = heap.add(64);
  heap.pages.touch(0x1000);
  std::vector<PageRun> runs = heap.pages.runs();
  runs.push_back({0x7000'0000'0000, 0x7f00'0000'0000, PageState::Fill, heap.at(a)});
  const MemoryImage image(runs, heap.pages);
  const BlockRanks ranks =
      BlockRanks::of({heap.blocks[a], {0x7000'0000'0000, 0xe00'0000'0000, 0}, {0x7e10'0000'0000, 64, 0}}).value();
  const ReferenceGraph graph = ReferenceGraph::of(image, ranks).value();
  EXPECT_EQ(graph.targets(1).size(), 512u);
  EXPECT_EQ(graph.targets(2).size(), 8u);
}

} // namespace
} // namespace heaptape
