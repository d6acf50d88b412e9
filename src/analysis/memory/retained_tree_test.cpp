#include "analysis/memory/retained_tree.h"

#include <gtest/gtest.h>

#include "analysis/memory/held_heap_for_test.h"

namespace heaptape {
namespace {

constexpr std::uint32_t kList = 0, kNode = 1, kText = 2, kUntyped = 3, kVariable = 4, kStack = 5;

class RetainedTreeTest : public ::testing::Test {
protected:
  std::uint32_t add(std::uint64_t size, std::uint32_t kind) {
    kinds.push_back(kind);
    return test.heap.add(size);
  }
  RetainedTree tree(std::uint32_t from = BlockRanks::kNone) {
    view.emplace(test.view());
    dominators.emplace(Dominators::of(*view));
    RetainedQuestion question;
    if (from != BlockRanks::kNone) question.from = dominators->node_of(from);
    question.kind_of = kinds;
    question.is_type = [](std::uint32_t kind) { return kind != kUntyped; };
    question.holder_of = [&](std::uint32_t node) {
      return dominators->block_of(node) == Dominators::kNone ? kStack : kVariable;
    };
    return RetainedTree::of(*dominators, test.heap.ranks(), question);
  }
  // "4:0/100" for each group in the order of the tree: its kind, its blocks and what it retains, indented by its depth.
  static std::vector<std::string> lines(const RetainedTree& tree, std::size_t most = 100) {
    std::vector<std::string> lines;
    for (const std::uint32_t number : tree.largest(most)) {
      const RetainedGroup& group = tree.groups()[number];
      lines.push_back(std::string(group.depth, ' ') + std::to_string(group.kind) + ":" + std::to_string(group.blocks) +
                      "/" + std::to_string(group.retained_bytes));
    }
    return lines;
  }

  HeldHeap test;
  std::vector<std::uint32_t> kinds;
  std::optional<HeapView> view;
  std::optional<Dominators> dominators;
};

using Lines = std::vector<std::string>;

TEST_F(RetainedTreeTest, TakesNodesOfAListTogether) {
  const std::uint32_t list = add(10, kList);
  std::uint32_t last = list;
  for (int i = 0; i < 3; ++i) {
    const std::uint32_t node = add(20, kNode), text = add(100, kText);
    test.heap.point(last, 0, node);
    test.heap.point(node, 8, text);
    last = node;
  }
  test.global(list);
  const RetainedTree whole = tree();
  EXPECT_EQ(lines(whole), (Lines{" 4:0/370", "  0:1/370", "   1:3/360", "    2:3/300"}));
  EXPECT_EQ(whole.groups()[0].retained_blocks, 7u);
  EXPECT_EQ(lines(whole, 2), (Lines{" 4:0/370", "  0:1/370"})) << "what retains most";
}

TEST_F(RetainedTreeTest, ShowsWhatOneBlockHoldsBelowIt) {
  const std::uint32_t first = add(20, kNode), second = add(20, kNode), text = add(100, kText);
  test.heap.point(first, 0, second);
  test.heap.point(second, 0, text);
  test.global(first);
  const RetainedTree below = tree(first);
  EXPECT_EQ(below.groups()[0].blocks, 1u);
  EXPECT_EQ(below.groups()[0].retained_bytes, 140u);
  EXPECT_EQ(lines(below), (Lines{" 1:1/120", "  2:1/100"}));
  EXPECT_EQ(lines(tree(text)), Lines{});
}

TEST_F(RetainedTreeTest, KeepsBlocksOfDifferentSizesApartWhenTheirTypeIsNotKnown) {
  const std::uint32_t table = add(400, kUntyped), entry = add(30, kUntyped), next = add(30, kUntyped);
  test.heap.point(table, 0, entry);
  test.heap.point(entry, 0, next);
  test.global(table);
  EXPECT_EQ(lines(tree()), (Lines{" 4:0/460", "  3:1/460", "   3:2/60"}));
}

TEST_F(RetainedTreeTest, HasRootsOfBothRanksAtItsTop) {
  const std::uint32_t thread = test.thread();
  const std::uint32_t global = add(30, kText), local = add(20, kText);
  test.global(global);
  test.slot(thread, local);
  EXPECT_EQ(lines(tree()), (Lines{" 4:0/30", "  2:1/30", " 5:0/20", "  2:1/20"}));
}

TEST_F(RetainedTreeTest, DoesNotGrowAsDeepAsStructuresThatHoldEachOtherInTurn) {
  std::uint32_t last = add(8, kList);
  test.global(last);
  for (std::uint32_t i = 1; i < 1000; ++i) {
    const std::uint32_t next = add(8, i % 3);
    test.heap.point(last, 0, next);
    last = next;
  }
  const RetainedTree folded = tree();
  EXPECT_LT(folded.groups().size(), 20u);
  EXPECT_EQ(folded.groups()[0].retained_bytes, 8000u);
}

} // namespace
} // namespace heaptape
