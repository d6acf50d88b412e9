#include "analysis/heap/pool_state.h"

#include <gtest/gtest.h>

#include "analysis/index/story_for_test.h"
#include "analysis/index/tape_for_test.h"

namespace heaptape {
namespace {

using test::Story;

PoolState state_of(const Story& story) {
  PoolState state;
  for (const Event& event : story.events()) state.apply(event);
  return state;
}

TEST(PoolState, EachPoolHasItsOwnTotalsAndPeak) {
  Story story;
  story.make(0x10000, 4096); // the arena itself: no business of the pools
  story.pool_make(1, 0x10000, 100).pool_make(1, 0x10064, 50).pool_make(2, 0x10000, 7).pool_end(1, 0x10000);
  const auto figures = state_of(story).figures();
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_EQ(figures[0].pool, 1u);
  EXPECT_EQ(figures[0].allocated, (Cost{150, 2}));
  EXPECT_EQ(figures[0].live, (Cost{50, 1}));
  EXPECT_EQ(figures[0].peak_bytes, 150u);
  EXPECT_EQ(figures[0].peak_event, 3u);
  EXPECT_EQ(figures[1].live, (Cost{7, 1}));
}

TEST(PoolState, AResetEndsAllBlocksOfItsPoolAndOfNoOther) {
  Story story;
  story.pool_make(1, 0x1000, 10).pool_make(1, 0x2000, 10).pool_make(2, 0x3000, 10).pool_end(1, 0);
  const auto figures = state_of(story).figures();
  EXPECT_EQ(figures[0].live, Cost{});
  EXPECT_EQ(figures[0].resets, 1u);
  EXPECT_EQ(figures[0].allocated, (Cost{20, 2}));
  EXPECT_EQ(figures[1].live, (Cost{10, 1}));
}

TEST(PoolState, ABlockAtALiveAddressReplacesTheOldOne) {
  Story story;
  story.pool_make(1, 0x1000, 10).pool_make(1, 0x1000, 30);
  const auto figures = state_of(story).figures();
  EXPECT_EQ(figures[0].live, (Cost{30, 1}));
  EXPECT_EQ(figures[0].replaced, 1u);
  EXPECT_EQ(figures[0].peak_bytes, 30u);
}

TEST(PoolState, AFreeOfWhatIsNoBlockIsCounted) {
  Story story;
  story.pool_make(1, 0x1000, 10).pool_end(1, 0x1008).pool_end(2, 0x1000);
  const auto figures = state_of(story).figures();
  EXPECT_EQ(figures[0].unknown_frees, 1u);
  EXPECT_EQ(figures[1].unknown_frees, 1u);
  EXPECT_EQ(figures[0].live, (Cost{10, 1}));
}

TEST(PoolState, CostsAreChargedToWhoMadeTheBlock) {
  Story story;
  story.by(1, 5).pool_make(1, 0x1000, 10).by(2, 6).pool_make(1, 0x2000, 20).pool_make(1, 0x3000, 1).pool_end(1, 0x1000);
  const auto owners = state_of(story).owners(1);
  ASSERT_EQ(owners.size(), 2u);
  EXPECT_EQ(owners[0], (PoolOwnerCost{{StackId(5), ThreadId(1)}, {10, 1}, {}}));
  EXPECT_EQ(owners[1], (PoolOwnerCost{{StackId(6), ThreadId(2)}, {21, 2}, {21, 2}}));
  EXPECT_TRUE(state_of(story).owners(9).empty());
}

TEST(PoolState, AnAddressIsFoundInsideBlocksOfSeveralPools) {
  Story story;
  story.pool_make(1, 0x1000, 0x100).pool_make(2, 0x1080, 8).pool_make(3, 0x1084, 0);
  const PoolState state = state_of(story);
  EXPECT_EQ(state.find_around(0x1084).size(), 3u);
  EXPECT_EQ(state.find_around(0x1088).size(), 1u);
  EXPECT_TRUE(state.find_around(0x1100).empty());
}

TEST(PoolState, OfATapeIsThatAfterTheEventAskedFor) {
  Story story;
  story.make(0x10000, 4096).pool_make(1, 0x10000, 100).pool_make(1, 0x10064, 50).pool_end(1, 0);
  const test::SmallTape file(story.events(), 1, 2); // two events per block
  const TapeReader tape = file.open();
  EXPECT_EQ(pools_after(tape).state.figures()[0].live, Cost{});
  EXPECT_EQ(pools_after(tape, {.until = 3}).state.figures()[0].live, (Cost{150, 2}));
  EXPECT_TRUE(pools_after(tape, {.until = 1}).state.figures().empty());
}

TEST(PoolState, PoolEventsChangeNothingInTheHeap) {
  Story plain, mixed;
  plain.make(0x10000, 4096).end(0x10000);
  mixed.make(0x10000, 4096).pool_make(1, 0x10000, 100).pool_end(1, 0x10000).end(0x10000);
  const HeapTotals heap = plain.findings().totals, with_pools = mixed.findings().totals;
  EXPECT_EQ(with_pools.allocated_bytes, heap.allocated_bytes);
  EXPECT_EQ(with_pools.live_blocks, heap.live_blocks);
  EXPECT_EQ(with_pools.peak_bytes, heap.peak_bytes);
  EXPECT_EQ(with_pools.unknown_releases, 0u);
  EXPECT_TRUE(has_pools(with_pools));
  EXPECT_FALSE(has_pools(heap));
  // A wrapper's pool block stands between malloc and free, and the block is temporary all the same.
  EXPECT_EQ(mixed.findings().by_owner[0].temporary, (Cost{4096, 1}));
}

} // namespace
} // namespace heaptape
