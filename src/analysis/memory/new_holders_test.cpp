#include "analysis/memory/new_holders.h"

#include <gtest/gtest.h>

#include "analysis/memory/held_heap_for_test.h"

namespace heaptape {
namespace {

constexpr std::uint32_t kShop = 0, kBuckets = 1, kNode = 2, kOrder = 3, kVariable = 10, kStack = 11;

class NewHolders : public ::testing::Test {
protected:
  // A block that counts as its kind.
  std::uint32_t add(std::uint32_t kind, std::uint64_t size, bool is_new) {
    kinds.push_back(kind);
    news.push_back(is_new);
    return test.heap.add(size);
  }
  std::uint32_t old_one(std::uint32_t kind, std::uint64_t size = 64) { return add(kind, size, false); }
  std::uint32_t new_one(std::uint32_t kind, std::uint64_t size = 64) { return add(kind, size, true); }

  void look() {
    view.emplace(test.view());
    dominators.emplace(Dominators::of(*view));
    tree.emplace(RetainedTree::of(*dominators, test.heap.ranks(),
                                  {.kind_of = kinds,
                                   .is_type = [](std::uint32_t) { return true; },
                                   .holder_of =
                                       [&](std::uint32_t node) {
                                         return dominators->block_of(node) == Dominators::kNone ? kStack : kVariable;
                                       }}));
  }
  std::vector<NewHolding> holdings() {
    look();
    return new_holdings(*view, *dominators, *tree, {.is_new = news, .what_of = kinds});
  }
  // "3: 2 blocks in 3 below 2, held by 0": what, how many, the kinds of their group, of the first new one and of the holder.
  std::vector<std::string> lines() {
    std::vector<std::string> lines;
    for (const NewHolding& each : holdings()) {
      std::string line = std::to_string(each.what) + ": " + std::to_string(each.blocks) + " of " +
                         std::to_string(each.bytes) + " bytes";
      if (each.group == NewHolding::kNone) {
        line += ", lost";
      } else {
        line += " in " + kind_of(each.group) + " below " + kind_of(each.first) + ", held by " +
                kind_of(tree->groups()[each.first].parent);
      }
      lines.push_back(line);
    }
    return lines;
  }
  std::string kind_of(std::uint32_t group) const { return std::to_string(tree->groups()[group].kind); }

  HeldHeap test;
  std::vector<std::uint32_t> kinds;
  std::vector<bool> news;
  std::optional<HeapView> view;
  std::optional<Dominators> dominators;
  std::optional<RetainedTree> tree;
};

using Lines = std::vector<std::string>;

// g_shop -> shop -> buckets -> nodes -> orders; the shop was there before.
TEST_F(NewHolders, TheLastBlockThatWasThereHoldsWhatIsNew) {
  const std::uint32_t shop = old_one(kShop), buckets = new_one(kBuckets, 80);
  test.global(shop);
  test.heap.point(shop, 16, buckets);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::uint32_t node = i == 0 ? old_one(kNode) : new_one(kNode),
                        order = i == 0 ? old_one(kOrder) : new_one(kOrder, 100);
    test.heap.point(buckets, 8 * i, node);
    test.heap.point(node, 24, order);
  }
  EXPECT_EQ(lines(), (Lines{"1: 1 of 80 bytes in 1 below 1, held by 0", "2: 2 of 128 bytes in 2 below 1, held by 0",
                            "3: 2 of 200 bytes in 3 below 1, held by 0"}));
  const std::vector<NewHolding> found = holdings();
  EXPECT_EQ(found[2].outermost, buckets);
  EXPECT_EQ(found[2].holder, shop);
  const std::uint32_t first = found[2].first;
  const std::vector<HeldAt> at = held_at(*view, *dominators, *tree, news, std::span(&first, 1));
  ASSERT_EQ(at.size(), 1u);
  EXPECT_EQ(at[0].lowest, 16u);
  EXPECT_EQ(at[0].highest, 16u);
}

// The new node hangs on an old one, and yet it is the list's.
TEST_F(NewHolders, AListThatGrewIsHeldByWhatItHangsOn) {
  const std::uint32_t shop = old_one(kShop);
  test.global(shop);
  std::uint32_t last = shop;
  for (int i = 0; i < 5; ++i) {
    const std::uint32_t node = i < 2 ? old_one(kNode) : new_one(kNode);
    test.heap.point(last, 0, node);
    last = node;
  }
  EXPECT_EQ(lines(), (Lines{"2: 3 of 192 bytes in 2 below 2, held by 0"}));
}

TEST_F(NewHolders, OneHolderIsNamedAndOfSeveralNone) {
  const std::uint32_t shops = old_one(kBuckets), shop = old_one(kShop), other = old_one(kShop);
  test.global(shops);
  test.heap.point(shops, 0, shop);
  test.heap.point(shops, 8, other);
  for (std::uint64_t i = 0; i < 3; ++i) test.heap.point(i == 2 ? other : shop, 8 * i, new_one(kOrder));
  test.heap.point(shop, 32, new_one(kNode));
  const std::vector<NewHolding> found = holdings();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].holder, shop);
  EXPECT_EQ(found[1].blocks, 3u);
  EXPECT_EQ(found[1].holder, NewHolding::kNone);
  const std::uint32_t first = found[1].first;
  const std::vector<HeldAt> at = held_at(*view, *dominators, *tree, news, std::span(&first, 1));
  EXPECT_EQ(at[0].lowest, 0u);
  EXPECT_EQ(at[0].highest, 16u);
}

TEST_F(NewHolders, VariablesAndStacksHoldToo) {
  const std::uint32_t order = new_one(kOrder), local = new_one(kNode);
  test.global(order);
  test.slot(test.thread(), local);
  EXPECT_EQ(lines(), (Lines{"2: 1 of 64 bytes in 2 below 2, held by 11", "3: 1 of 64 bytes in 3 below 3, held by 10"}));
}

TEST_F(NewHolders, CyclesAreHeldByWhatLeadsIntoThemOrLost) {
  const std::uint32_t shop = old_one(kShop), held = new_one(kNode), other = new_one(kNode), lost = new_one(kOrder),
                      back = new_one(kOrder);
  test.global(shop);
  test.heap.point(shop, 8, held);
  test.heap.point(held, 0, other);
  test.heap.point(other, 0, held);
  test.heap.point(lost, 0, back);
  test.heap.point(back, 0, lost);
  EXPECT_EQ(lines(), (Lines{"2: 2 of 128 bytes in 2 below 2, held by 0", "3: 2 of 128 bytes, lost"}));
}

TEST_F(NewHolders, WhatWasThereIsNotCountedAndNeitherIsWhatNobodyAskedAbout) {
  const std::uint32_t shop = old_one(kShop), node = new_one(kNode), order = new_one(kOrder);
  test.global(shop);
  test.heap.point(shop, 0, node);
  test.heap.point(node, 0, order);
  std::vector<std::uint32_t> asked = kinds;
  asked[node] = NewBlocks::kNotAsked;
  look();
  const std::vector<NewHolding> found = new_holdings(*view, *dominators, *tree, {.is_new = news, .what_of = asked});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].example, order);
  EXPECT_EQ(found[0].outermost, node) << "it is on the way all the same";
}

TEST_F(NewHolders, ReferrersAreListedUpToALimit) {
  const std::uint32_t order = new_one(kOrder), alone = new_one(kOrder);
  std::vector<std::uint32_t> nodes;
  for (int i = 0; i < 4; ++i) {
    nodes.push_back(old_one(kNode));
    test.heap.point(nodes.back(), 0, order);
    test.heap.point(nodes.back(), 8, order);
  }
  test.heap.point(order, 0, order);
  look();
  const std::vector<std::uint32_t> asked{order, alone};
  const auto found = referrers_of(*view, asked, 3);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], (std::vector<std::uint32_t>(nodes.begin(), nodes.begin() + 3)));
  EXPECT_TRUE(found[1].empty());
}

} // namespace
} // namespace heaptape
