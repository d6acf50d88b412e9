#include "analysis/memory/lost_ways.h"

#include <gtest/gtest.h>

#include "analysis/memory/held_heap_for_test.h"

namespace heaptape {
namespace {

using Blocks = std::vector<std::uint32_t>;

LostWays ways_of(HeldHeap& held, std::uint32_t block) {
  const HeapView view = held.view();
  return lost_ways(view, Reachability::of(view), block);
}

TEST(LostWays, ABlockOfATreeHasAWayFromItsLeaderAndWhatIsBelowIt) {
  HeldHeap held;
  HeapForTest& heap = held.heap;
  const auto root = heap.add(32), middle = heap.add(48), leaf = heap.add(64);
  heap.point(root, 0, middle);
  heap.point(middle, 8, leaf);
  const LostWays ways = ways_of(held, middle);
  EXPECT_EQ(ways.way, (Blocks{root, middle}));
  EXPECT_EQ(ways.ring, Blocks());
  EXPECT_EQ(ways.cycle, 1u);
  EXPECT_EQ(ways.below.blocks, 1u);
  EXPECT_EQ(ways.below.bytes, 64u);
  EXPECT_EQ(ways_of(held, root).way, Blocks());
  EXPECT_EQ(ways_of(held, leaf).way, (Blocks{root, middle, leaf}));
}

TEST(LostWays, TheRingIsTheShortestWayBackAndTheCycleAllThatLeadToEachOther) {
  HeldHeap held;
  HeapForTest& heap = held.heap;
  const auto a = heap.add(32), b = heap.add(32), c = heap.add(32), leaf = heap.add(32);
  heap.point(a, 0, b);
  heap.point(b, 0, a);
  heap.point(b, 8, c);
  heap.point(c, 0, a);
  heap.point(c, 8, leaf);
  const LostWays first = ways_of(held, a);
  EXPECT_EQ(first.ring, (Blocks{a, b}));
  EXPECT_EQ(first.cycle, 3u);
  EXPECT_EQ(first.below.blocks, 3u);
  EXPECT_EQ(ways_of(held, c).ring, (Blocks{c, a, b}));
  EXPECT_EQ(ways_of(held, leaf).cycle, 1u);
  EXPECT_EQ(ways_of(held, leaf).way, (Blocks{a, b, c, leaf}));
}

TEST(LostWays, ABlockThatLeadsToItselfIsInNoRing) {
  HeldHeap held;
  const auto alone = held.heap.add(32);
  held.heap.point(alone, 0, alone);
  EXPECT_EQ(ways_of(held, alone).ring, Blocks());
  EXPECT_EQ(ways_of(held, alone).cycle, 1u);
}

} // namespace
} // namespace heaptape
