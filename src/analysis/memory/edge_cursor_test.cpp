#include "analysis/memory/edge_cursor.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "analysis/memory/edge_walk.h"
#include "analysis/memory/held_heap_for_test.h"

namespace heaptape {
namespace {

using Edge =
    std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>; // target, offset of the word, offset in the target

std::vector<Edge> edges_of(EdgeCursor& cursor, std::uint32_t block) {
  std::vector<Edge> edges;
  cursor.go_to(block);
  while (const auto edge = cursor.next()) edges.push_back({edge->target, edge->offset, edge->inside});
  return edges;
}

TEST(EdgeCursor, SaysWhereTheWordsLieOfAnyBlockInAnyOrder) {
  HeldHeap held;
  const std::uint32_t table = held.heap.add(40'000), a = held.heap.add(64), b = held.heap.add(64);
  held.heap.point(table, 0x18, a);
  held.heap.point(table, 0x7000, b, 0x20);
  held.heap.point(table, 0x7008, a, 8);
  held.heap.point(b, 0, table);
  const HeapView heap = held.view();
  EdgeCursor cursor(heap);
  EXPECT_EQ(edges_of(cursor, b), (std::vector<Edge>{{table, 0, 0}}));
  EXPECT_EQ(edges_of(cursor, table), (std::vector<Edge>{{a, 0x18, 0}, {b, 0x7000, 0x20}, {a, 0x7008, 8}}));
  EXPECT_EQ(edges_of(cursor, a), std::vector<Edge>());
}

TEST(EdgeCursor, OfWhatCannotBeReadAnyMoreTheTargetIsLeft) {
  HeldHeap held;
  held.heap.pages.pages_per_chunk = 1;
  const std::uint32_t table = held.heap.add(3 * kPageBytes), a = held.heap.add(64), b = held.heap.add(64);
  held.heap.point(table, 8, a);
  held.heap.point(table, 2 * kPageBytes, b);
  const HeapView heap = held.view();
  held.heap.pages.damaged = (held.heap.at(table, 2 * kPageBytes) - HeapForTest::kHeap) / kPageBytes + 1;
  EdgeCursor cursor(heap);
  EXPECT_EQ(edges_of(cursor, table), (std::vector<Edge>{{a, 8, 0}, {b, WalkedEdge::kUnknown, 0}}));
}

TEST(EdgeCursor, AWordThatIsDisguisedMayLeadToTwoBlocks) {
  HeldHeap held;
  const std::uint32_t from = held.heap.add(64), plain = held.heap.add(1 << 12), other = held.heap.add(64);
  held.heap.pages.put_word(held.heap.at(from, 0x10), held.heap.at(other) | std::uint64_t{0xab} << 56);
  held.heap.point(from, 0x20, plain, 0x30);
  const HeapView heap = held.view({.form = {.mask = 0x00ff'ffff'ffff'ffff}});
  EdgeCursor cursor(heap);
  EXPECT_EQ(edges_of(cursor, from), (std::vector<Edge>{{other, 0x10, 0}, {plain, 0x20, 0x30}}));
}

TEST(EdgeWalk, VisitsEveryBlockAndEndsWhenNobodyWantsMore) {
  HeldHeap held;
  const std::uint32_t a = held.heap.add(64), b = held.heap.add(64), c = held.heap.add(64);
  held.heap.point(a, 0, b);
  held.heap.point(b, 8, c);
  const HeapView heap = held.view();
  std::vector<std::uint32_t> sources, done;
  walk_edges(
      heap,
      [&](std::uint32_t block, const WalkedEdge&) {
        sources.push_back(block);
        return true;
      },
      [&](std::uint32_t block) { done.push_back(block); });
  EXPECT_EQ(sources, (std::vector<std::uint32_t>{a, b}));
  EXPECT_EQ(done, (std::vector<std::uint32_t>{a, b, c}));
  done.clear();
  walk_edges(
      heap, [&](std::uint32_t block, const WalkedEdge&) { return block != b; },
      [&](std::uint32_t block) { done.push_back(block); });
  EXPECT_EQ(done, std::vector<std::uint32_t>{a});
}

} // namespace
} // namespace heaptape
