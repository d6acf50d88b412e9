#include "analysis/memory/dominators.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "analysis/memory/held_heap_for_test.h"

namespace heaptape {
namespace {

TEST(Dominators, HoldWhatCanBeReachedThroughThemAlone) {
  HeldHeap test;
  const std::uint32_t a = test.heap.add(10), b = test.heap.add(20), c = test.heap.add(30), d = test.heap.add(40),
                      e = test.heap.add(50);
  test.global(a);
  test.heap.point(a, 0, b);
  test.heap.pages.put_word(test.heap.at(b, 8), test.heap.at(d));
  test.heap.point(b, 0, c);
  test.heap.point(c, 0, d);
  test.heap.point(e, 0, a); // lost
  const Dominators dominators = Dominators::of(test.view());
  const auto holder = [&](std::uint32_t block) {
    return dominators.block_of(dominators.dominator(dominators.node_of(block)));
  };
  EXPECT_EQ(dominators.dominator(dominators.node_of(a)), Dominators::kRoot);
  EXPECT_EQ(holder(b), a);
  EXPECT_EQ(holder(c), b);
  EXPECT_EQ(holder(d), b);
  EXPECT_EQ(dominators.node_of(e), Dominators::kNone);
  EXPECT_EQ(dominators.retained_bytes(dominators.node_of(a)), 100u);
  EXPECT_EQ(dominators.retained_bytes(dominators.node_of(b)), 90u);
  EXPECT_EQ(dominators.retained_bytes(Dominators::kRoot), 100u);
  const DominatorChildren children(dominators);
  EXPECT_EQ(children.of(dominators.node_of(b)).size(), 2u);
  EXPECT_EQ(children.largest(dominators.node_of(b), 1), std::vector{dominators.node_of(d)});
  EXPECT_TRUE(children.of(dominators.node_of(d)).empty());
}

TEST(Dominators, AreNotMovedByWordsOnStacks) {
  HeldHeap test;
  const std::uint32_t one = test.thread(), two = test.thread();
  const std::uint32_t owner = test.heap.add(16), node = test.heap.add(16), local = test.heap.add(32),
                      below = test.heap.add(64), shared = test.heap.add(128);
  test.global(owner);
  test.heap.point(owner, 0, node);
  test.slot(one, node);
  test.slot(two, local);
  test.heap.point(local, 0, below);
  test.heap.point(local, 8, node); // a local object that refers to what the variable holds
  test.slot(one, shared);
  test.slot(two, shared);
  const Dominators dominators = Dominators::of(test.view());
  EXPECT_EQ(dominators.dominator(dominators.node_of(node)), dominators.node_of(owner));
  EXPECT_EQ(dominators.retained_bytes(dominators.node_of(owner)), 32u);
  ASSERT_EQ(dominators.stacks().size(), 2u);
  EXPECT_EQ(dominators.stacks()[1].thread, two);
  const std::uint32_t stack = dominators.stacks()[1].node;
  EXPECT_EQ(dominators.block_of(stack), Dominators::kNone);
  EXPECT_EQ(dominators.dominator(dominators.node_of(local)), stack);
  EXPECT_EQ(dominators.retained_bytes(stack), 96u);
  EXPECT_EQ(dominators.dominator(dominators.node_of(shared)), Dominators::kRoot) << "two threads hold it";
  EXPECT_EQ(dominators.dominator(stack), Dominators::kRoot);
}

TEST(Dominators, HangOnTheirOwnerWhenSeveralOfItsWordsLeadThere) {
  HeldHeap test;
  const std::uint32_t thread = test.thread();
  const std::uint32_t first = test.heap.add(10), last = test.heap.add(20), shared = test.heap.add(40),
                      local = test.heap.add(80);
  test.heap.point(first, 0, last); // a ring, of which the owner knows both ends
  test.heap.point(last, 0, first);
  test.slot(thread, local);
  const std::vector<OwnedRoot> roots{{7, first}, {7, last}, {7, shared}, {9, shared}};
  const Dominators dominators = Dominators::of(test.view(), roots);
  ASSERT_EQ(dominators.owners().size(), 2u);
  const std::uint32_t owner = dominators.owners()[0].node;
  EXPECT_EQ(dominators.owners()[0].owner, 7u);
  EXPECT_EQ(dominators.block_of(owner), Dominators::kNone);
  EXPECT_EQ(dominators.dominator(owner), Dominators::kRoot);
  EXPECT_EQ(dominators.dominator(dominators.node_of(first)), owner);
  EXPECT_EQ(dominators.dominator(dominators.node_of(last)), owner);
  EXPECT_EQ(dominators.retained_bytes(owner), 30u);
  EXPECT_EQ(dominators.dominator(dominators.node_of(shared)), Dominators::kRoot);
  EXPECT_EQ(dominators.retained_bytes(dominators.owners()[1].node), 0u);
  ASSERT_EQ(dominators.stacks().size(), 1u);
  EXPECT_EQ(dominators.dominator(dominators.node_of(local)), dominators.stacks()[0].node);
}

TEST(Dominators, AgreeWithTakingBlocksAwayOneByOne) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t count) { return static_cast<std::uint32_t>(random() % count); };
  for (int round = 0; round < 120; ++round) {
    HeldHeap test;
    const std::uint32_t count = 2 + below(40), edges = below(3 * count);
    for (std::uint32_t i = 0; i < count; ++i) test.heap.add(128);
    for (std::uint32_t i = 0; i < edges; ++i) test.heap.point(below(count), below(16) * 8, below(count));
    std::vector<std::uint32_t> roots{below(count)};
    for (std::uint32_t i = below(4); i > 0; --i) roots.push_back(below(count));
    for (const std::uint32_t root : roots) test.global(root);
    const HeapView view = test.view();
    const Dominators dominators = Dominators::of(view);

    const auto reached_without = [&](std::uint32_t missing) {
      std::vector<bool> seen(count);
      std::vector<std::uint32_t> queue;
      const auto add = [&](std::uint32_t block) {
        if (block == missing || seen[block]) return;
        seen[block] = true;
        queue.push_back(block);
      };
      for (const std::uint32_t root : roots) add(root);
      while (!queue.empty()) {
        const std::uint32_t block = queue.back();
        queue.pop_back();
        for (const std::uint32_t target : view.graph.targets(block)) add(target);
      }
      return seen;
    };
    const std::vector<bool> reached = reached_without(count);
    std::vector<std::uint64_t> retained(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      ASSERT_EQ(dominators.node_of(i) != Dominators::kNone, reached[i]);
      if (!reached[i]) continue;
      const std::vector<bool> rest = reached_without(i);
      std::set<std::uint32_t> gone;
      for (std::uint32_t k = 0; k < count; ++k) {
        if (reached[k] && !rest[k]) gone.insert(k);
      }
      ASSERT_EQ(dominators.retained_bytes(dominators.node_of(i)), gone.size() * 128) << "round " << round;
      for (const std::uint32_t block : gone) { // the tree says so, too
        std::uint32_t node = dominators.node_of(block);
        while (node != Dominators::kRoot && dominators.block_of(node) != i) node = dominators.dominator(node);
        ASSERT_EQ(dominators.block_of(node), i);
      }
    }
  }
}

TEST(Dominators, FollowALongListThatIsLinkedBothWays) {
  HeldHeap test;
  constexpr std::uint32_t kNodes = 50'000;
  for (std::uint32_t i = 0; i < kNodes; ++i) test.heap.blocks.push_back({HeapForTest::kHeap + i * 32, 16, 0});
  for (std::uint32_t i = 0; i + 1 < kNodes; ++i) {
    test.heap.point(i, 0, i + 1);
    test.heap.point(i + 1, 8, i);
  }
  test.global(0);
  const Dominators dominators = Dominators::of(test.view());
  EXPECT_EQ(dominators.retained_bytes(dominators.node_of(1)), std::uint64_t{kNodes - 1} * 16);
  EXPECT_EQ(dominators.retained_bytes(dominators.node_of(kNodes - 1)), 16u);
}

TEST(Dominators, OfPythonObjectsAreNotFlattenedByTheCollectorsList) {
  HeldHeap test;
  HeapForTest& heap = test.heap;
  const std::uint32_t type = heap.add(400);
  heap.be_type(type);
  std::vector<std::uint32_t> objects;
  for (int i = 0; i < 4; ++i) objects.push_back(heap.add(64));
  for (std::size_t i = 0; i < 4; ++i) {
    heap.point(objects[i], 0, objects[(i + 1) % 4]);
    heap.point(objects[i], 8, objects[(i + 3) % 4]);
    heap.pages.put_word(heap.at(objects[i], 16), 1);
    heap.point(objects[i], 24, type);
  }
  for (std::size_t i = 0; i < 3; ++i) heap.point(objects[0], 32 + 8 * i, objects[i + 1], 16);
  test.global(type);
  heap.pages.put_word(kGlobals + 0x800, heap.at(objects[0], 16));
  heap.pages.put_word(kGlobals + 0x808, heap.at(objects[2])); // the head of the list
  const Dominators with_list = Dominators::of(test.view());
  EXPECT_EQ(with_list.retained_bytes(with_list.node_of(objects[0])), 64u);
  const Dominators without = Dominators::of(test.view({.cpython = true}));
  EXPECT_EQ(without.retained_bytes(without.node_of(objects[0])), 3u * 64);
}

TEST(Dominators, OfNothingIsARoot) {
  HeldHeap test;
  test.heap.pages.touch(kGlobals);
  const Dominators dominators = Dominators::of(test.view());
  EXPECT_EQ(dominators.nodes(), 1u);
  EXPECT_EQ(dominators.retained_bytes(Dominators::kRoot), 0u);
  EXPECT_TRUE(DominatorChildren(dominators).of(Dominators::kRoot).empty());
}

} // namespace
} // namespace heaptape
