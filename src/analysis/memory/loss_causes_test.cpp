#include "analysis/memory/loss_causes.h"

#include <gtest/gtest.h>

#include "analysis/memory/held_heap_for_test.h"

namespace heaptape {
namespace {

std::vector<LossCause> causes_of(HeldHeap& held) {
  const HeapView view = held.view();
  return loss_causes(view, Reachability::of(view));
}

TEST(LossCauses, ATreeIsOneCauseWithWhatIsLostThroughIt) {
  HeldHeap held;
  HeapForTest& heap = held.heap;
  const auto root = heap.add(32), left = heap.add(48), right = heap.add(64);
  heap.point(root, 0, left);
  heap.point(root, 8, right);
  const auto causes = causes_of(held);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].block, root);
  EXPECT_EQ(causes[0].cycle, 1u);
  EXPECT_EQ(causes[0].indirect.blocks, 2u);
  EXPECT_EQ(causes[0].indirect.bytes, 112u);
}

TEST(LossCauses, ACycleIsOneCauseAndWhatHangsOnItIsNotInIt) {
  HeldHeap held;
  HeapForTest& heap = held.heap;
  const auto first = heap.add(32), second = heap.add(32), third = heap.add(32), leaf = heap.add(32);
  heap.point(first, 0, second);
  heap.point(second, 0, third);
  heap.point(third, 0, first);
  heap.point(second, 8, leaf);
  heap.point(leaf, 0, leaf);
  const auto causes = causes_of(held);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].block, first);
  EXPECT_EQ(causes[0].cycle, 3u);
  EXPECT_EQ(causes[0].indirect.blocks, 3u);
}

TEST(LossCauses, ABlockThatLeadsToItselfIsNotInACycleWithOthers) {
  HeldHeap held;
  const auto alone = held.heap.add(32);
  held.heap.point(alone, 0, alone);
  const auto causes = causes_of(held);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].cycle, 1u);
}

TEST(LossCauses, TwoCyclesOneBelowTheOtherAreOneCause) {
  HeldHeap held;
  HeapForTest& heap = held.heap;
  const auto a = heap.add(32), b = heap.add(32), c = heap.add(32), d = heap.add(32);
  heap.point(a, 0, b);
  heap.point(b, 0, a);
  heap.point(b, 8, c);
  heap.point(c, 0, d);
  heap.point(d, 0, c);
  const auto causes = causes_of(held);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].cycle, 2u);
  EXPECT_EQ(causes[0].indirect.blocks, 3u);
}

TEST(LossCauses, WhatIsPossiblyLostSaysWhichReferenceHoldsIt) {
  HeldHeap held;
  HeapForTest& heap = held.heap;
  const auto inside = heap.add(64), below = heap.add(32), packed = heap.add(64), behind = heap.add(40);
  const auto owner = heap.add(64), second = heap.add(64);
  heap.pages.put_word(kGlobals, heap.at(inside, 24));
  heap.point(inside, 0, below);
  heap.pages.put_word(kGlobals + 0x103, heap.at(packed));
  heap.pages.put_word(kGlobals + 0x200, heap.at(behind, 40));
  heap.pages.put_word(kGlobals + 0x300, heap.at(owner));
  heap.point(owner, 16, second, 32);
  const auto causes = causes_of(held);
  ASSERT_EQ(causes.size(), 4u);
  for (const LossCause& cause : causes) EXPECT_FALSE(cause.definite);
  EXPECT_EQ(causes[0].block, inside);
  EXPECT_EQ(causes[0].reference, WeakReference::Inside);
  EXPECT_EQ(causes[0].offset, 24u);
  EXPECT_EQ(causes[0].indirect.blocks, 1u);
  EXPECT_EQ(causes[1].block, packed);
  EXPECT_EQ(causes[1].reference, WeakReference::Unaligned);
  EXPECT_EQ(causes[2].block, behind);
  EXPECT_EQ(causes[2].reference, WeakReference::Behind);
  EXPECT_EQ(causes[3].block, second);
  EXPECT_EQ(causes[3].offset, 32u);
}

} // namespace
} // namespace heaptape
