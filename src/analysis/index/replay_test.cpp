// The definitions of docs/definitions.md, one small history each.
#include "analysis/index/replay.h"

#include <gtest/gtest.h>

#include "analysis/heap/cost_for_test.h"
#include "analysis/index/story_for_test.h"

namespace heaptape {
namespace {

using test::Story;

constexpr std::uint64_t kA = 0x1000, kB = 0x2000, kC = 0x3000;

Figures of_stack(const Findings& findings, std::uint32_t stack) {
  const StackFigures* row = findings.find(StackId(stack));
  return row != nullptr ? Figures(*row) : Figures{};
}
ThreadFigures of_thread(const Findings& findings, std::uint32_t thread) {
  const ThreadFigures* row = findings.find(ThreadId(thread));
  return row != nullptr ? *row : ThreadFigures{};
}

TEST(Replay, AnEmptyTapeHasEmptyAnswers) {
  const Findings findings = Story().findings();
  EXPECT_EQ(findings.totals, HeapTotals{});
  EXPECT_TRUE(findings.by_owner.empty());
  ASSERT_EQ(findings.timeline.levels.size(), 1u);
  EXPECT_EQ(findings.timeline.levels[0].buckets, std::vector<TimeBucket>(1));
}

TEST(Replay, BlocksBelongToTheStackThatMadeThem) {
  Story story;
  story.by(1, 7).make(kA, 100).make(kB, 50).by(1, 8).make(kC, 5).by(1, 9).end(kA);
  const Findings findings = story.findings();
  EXPECT_EQ(of_stack(findings, 7).allocated, (Cost{150, 2}));
  EXPECT_EQ(of_stack(findings, 7).freed, (Cost{100, 1}));
  EXPECT_EQ(of_stack(findings, 7).live(), (Cost{50, 1}));
  EXPECT_EQ(of_stack(findings, 7).largest, 100u);
  EXPECT_EQ(of_stack(findings, 8).live(), (Cost{5, 1}));
  EXPECT_EQ(findings.find(StackId(9)), nullptr); // it made nothing
}

TEST(Peak, BlockFreedBeforeThePeakIsNotCharged) {
  Story story;
  story.by(1, 1).make(kA, 100).end(kA).by(1, 2).make(kB, 200);
  const Findings findings = story.findings();
  EXPECT_EQ(findings.totals.peak_event, 3u);
  EXPECT_EQ(of_stack(findings, 1).at_peak, Cost{});
  EXPECT_EQ(of_stack(findings, 2).at_peak, (Cost{200, 1}));
}

TEST(Peak, BlockFreedAfterThePeakIsCharged) {
  Story story;
  story.by(1, 1).make(kA, 100).by(1, 2).make(kB, 200).end(kA).end(kB).make(kC, 10);
  const Findings findings = story.findings();
  EXPECT_EQ(findings.totals.peak_bytes, 300u);
  EXPECT_EQ(of_stack(findings, 1).at_peak, (Cost{100, 1}));
  EXPECT_EQ(of_stack(findings, 2).at_peak, (Cost{200, 1}));
}

TEST(Peak, OfSeveralEqualPeaksTheFirstCounts) {
  Story story;
  story.by(1, 1).make(kA, 100).end(kA).by(1, 2).make(kB, 100).end(kB);
  const Findings findings = story.findings();
  EXPECT_EQ(findings.totals.peak_event, 1u);
  EXPECT_EQ(of_stack(findings, 1).at_peak, (Cost{100, 1}));
  EXPECT_EQ(of_stack(findings, 2).at_peak, Cost{});
}

TEST(Peak, MayBeAtTheLastEvent) {
  Story story;
  story.by(1, 1).make(kA, 100).by(1, 2).make(kB, 1);
  const Findings findings = story.findings();
  EXPECT_EQ(findings.totals.peak_event, 2u);
  EXPECT_EQ(of_stack(findings, 1).at_peak, (Cost{100, 1}));
  EXPECT_EQ(of_stack(findings, 2).at_peak, (Cost{1, 1}));
}

TEST(Peak, StackThatChangesOftenBetweenPeaksKeepsTheLatestOne) {
  Story story;
  story.by(1, 1).make(kA, 10).by(1, 2).make(kB, 10); // 20: a peak
  story.by(1, 1).end(kA).make(kA, 15);               // 25: another
  story.end(kA).make(kA, 5).end(kA);
  const Findings findings = story.findings();
  EXPECT_EQ(findings.totals.peak_bytes, 25u);
  EXPECT_EQ(of_stack(findings, 1).at_peak, (Cost{15, 1}));
  EXPECT_EQ(of_stack(findings, 2).at_peak, (Cost{10, 1}));
}

TEST(Peak, IsMadeUpOfThreadsAndSizesToo) {
  Story story;
  story.by(1, 1).make(kA, 100).by(2, 1).make(kB, 1000).end(kA).end(kB);
  const Findings findings = story.findings();
  EXPECT_EQ(of_thread(findings, 1).at_peak, (Cost{100, 1}));
  EXPECT_EQ(of_thread(findings, 2).at_peak, (Cost{1000, 1}));
  EXPECT_EQ(findings.sizes[log_bucket(100)].at_peak, (Cost{100, 1}));
  EXPECT_EQ(findings.sizes[log_bucket(1000)].at_peak, (Cost{1000, 1}));
  EXPECT_EQ(findings.sizes[log_bucket(1000)].live, Cost{});
}

TEST(Peak, OfBlocksWithoutBytesIsBeforeTheFirstEvent) {
  const Findings findings = Story().make(kA, 0).make(kB, 0).findings();
  EXPECT_EQ(findings.totals.peak_event, 0u);
  EXPECT_EQ(of_stack(findings, 1).at_peak, Cost{});
}

TEST(Realloc, InPlaceGivesTheBlockToTheStackOfTheRealloc) {
  Story story;
  story.by(1, 1).make(kA, 100).by(1, 2).move(kA, kA, 300);
  const Findings findings = story.findings();
  EXPECT_EQ(of_stack(findings, 1).live(), Cost{});
  EXPECT_EQ(of_stack(findings, 1).freed, (Cost{100, 1}));
  EXPECT_EQ(of_stack(findings, 2).live(), (Cost{300, 1}));
  EXPECT_EQ(findings.totals.collisions, 0u);
}

TEST(Realloc, MovedNeverCountsOldAndNewTogether) {
  Story story;
  story.by(1, 1).make(kA, 1000).by(1, 2).move(kA, kB, 1100);
  const Findings findings = story.findings();
  EXPECT_EQ(findings.totals.peak_bytes, 1100u);
  EXPECT_EQ(of_stack(findings, 1).at_peak, Cost{});
  EXPECT_EQ(of_stack(findings, 2).at_peak, (Cost{1100, 1}));
}

TEST(Realloc, WhoseOldBlockWasReleasedEarlierReleasesItOnce) {
  Story story;
  story.by(1, 1).make(kA, 1000).end(kA, EventKind::ReallocRelease);
  story.by(2, 2).make(kA, 30);
  story.by(1, 3).move(kA, kB, 1100, true);
  const Findings findings = story.findings();
  EXPECT_EQ(of_stack(findings, 1).freed, (Cost{1000, 1}));
  EXPECT_EQ(of_stack(findings, 2).live(), (Cost{30, 1}));
  EXPECT_EQ(of_stack(findings, 3).live(), (Cost{1100, 1}));
  EXPECT_EQ(findings.totals.unknown_releases, 0u);
}

TEST(Realloc, ToNothingIsAReleaseAndOfNothingAnAllocation) {
  const Findings findings = Story().by(1, 1).make(kA, 10).by(1, 2).move(kA, 0, 0).by(1, 3).move(0, kB, 20).findings();
  EXPECT_EQ(of_stack(findings, 1).freed, (Cost{10, 1}));
  EXPECT_EQ(findings.find(StackId(2)), nullptr);
  EXPECT_EQ(of_stack(findings, 3).live(), (Cost{20, 1}));
}

TEST(Realloc, OfAnUnknownBlockIsAnAllocationAndAnUnknownRelease) {
  const Findings findings = Story().move(kA, kB, 20).findings();
  EXPECT_EQ(findings.totals.unknown_releases, 1u);
  EXPECT_EQ(of_stack(findings, 1).live(), (Cost{20, 1}));
}

TEST(Release, OfAnUnknownBlockIsCountedAndChangesNothing) {
  const Findings findings = Story().by(3, 1).end(kA).findings();
  EXPECT_EQ(findings.totals.unknown_releases, 1u);
  EXPECT_TRUE(findings.by_owner.empty());
  EXPECT_EQ(of_thread(findings, 3).freed_here, Cost{});
  EXPECT_EQ(of_thread(findings, 3).events, 1u);
}

TEST(Release, OfAddressZeroIsOfAnUnknownBlock) {
  const Findings findings = Story().make(kA, 10).end(0).findings();
  EXPECT_EQ(findings.totals.unknown_releases, 1u);
  EXPECT_EQ(findings.totals.live_blocks, 1u);
}

TEST(Release, ByAnotherThreadBelongsToTheThreadThatMadeTheBlock) {
  const Findings findings = Story().by(1, 1).make(kA, 100).by(2, 2).end(kA).findings();
  EXPECT_EQ(of_thread(findings, 1).freed, (Cost{100, 1}));
  EXPECT_EQ(of_thread(findings, 1).freed_here, Cost{});
  EXPECT_EQ(of_thread(findings, 2).freed_here, (Cost{100, 1}));
  EXPECT_EQ(of_thread(findings, 2).allocated, Cost{});
}

TEST(Allocation, OfNoBytesIsABlock) {
  const Findings findings = Story().make(kA, 0).make(kB, 0).end(kA).findings();
  EXPECT_EQ(of_stack(findings, 1).allocated, (Cost{0, 2}));
  EXPECT_EQ(of_stack(findings, 1).live(), (Cost{0, 1}));
  EXPECT_EQ(findings.sizes[0].allocated, (Cost{0, 2}));
}

TEST(Allocation, AtALiveAddressGivesTheEarlierBlockUp) {
  const Findings findings = Story().by(1, 1).make(kA, 100).by(1, 2).make(kA, 7).findings();
  EXPECT_EQ(findings.totals.collisions, 1u);
  EXPECT_EQ(of_stack(findings, 1).freed, (Cost{100, 1}));
  EXPECT_EQ(of_stack(findings, 1).temporary, Cost{}); // nobody released it
  EXPECT_EQ(of_stack(findings, 1).lifetime_us, 10u);
  EXPECT_EQ(of_thread(findings, 1).freed_here, Cost{});
  EXPECT_EQ(of_stack(findings, 2).live(), (Cost{7, 1}));
  EXPECT_EQ(findings.totals.peak_bytes, 100u);
  EXPECT_EQ(of_stack(findings, 1).at_peak, (Cost{100, 1}));
}

TEST(Allocation, ThatFailedIsNoBlock) {
  const Findings findings = Story().make(0, 100).findings();
  EXPECT_TRUE(findings.by_owner.empty());
  EXPECT_EQ(findings.totals.events, 1u);
}

TEST(Allocation, WhoseReleaseWasLostIsLiveUntilItsAddressIsUsedAgain) {
  // Recorded with events dropped: the release of the first block and the allocation of the second are missing.
  const Findings findings = Story().make(kA, 100).end(kB).make(kA, 50).findings();
  EXPECT_EQ(findings.totals.unknown_releases, 1u);
  EXPECT_EQ(findings.totals.collisions, 1u);
  EXPECT_EQ(of_stack(findings, 1).live(), (Cost{50, 1}));
}

TEST(Temporary, IsReleasedByItsThreadAsTheVeryNextEvent) {
  const Findings findings = Story().make(kA, 100).end(kA).make(kB, 50).make(kC, 20).end(kB).findings();
  EXPECT_EQ(of_stack(findings, 1).temporary, (Cost{100, 1}));
}

TEST(Temporary, EventsOfOtherThreadsBetweenDoNotMatter) {
  const Findings findings = Story().by(1, 1).make(kA, 100).by(2, 2).make(kB, 1).by(1, 1).end(kA).findings();
  EXPECT_EQ(of_stack(findings, 1).temporary, (Cost{100, 1}));
}

TEST(Temporary, BlockThatAnotherThreadReleasesIsNot) {
  const Findings findings = Story().by(1, 1).make(kA, 100).by(2, 1).end(kA).findings();
  EXPECT_EQ(of_stack(findings, 1).temporary, Cost{});
}

TEST(Temporary, BlockThatIsReallocatedAtOnceIs) {
  const Findings findings = Story().by(1, 1).make(kA, 100).by(1, 2).move(kA, kB, 200).findings();
  EXPECT_EQ(of_stack(findings, 1).temporary, (Cost{100, 1}));
  EXPECT_EQ(of_stack(findings, 2).temporary, Cost{});
}

TEST(Temporary, HoldsForTheNextFewEventsWhenAskedFor) {
  Story story;
  story.make(kA, 100)
      .make(kB, 10)
      .map(0x10000, 4096)
      .end(kA)
      .end(kB); // A as the third event after it, B as the third too
  EXPECT_EQ(of_stack(story.findings(), 1).temporary, Cost{});
  EXPECT_EQ(of_stack(story.findings({.temporary_events = 2}), 1).temporary, Cost{});
  EXPECT_EQ(of_stack(story.findings({.temporary_events = 3}), 1).temporary, (Cost{110, 2}));
  EXPECT_EQ(of_stack(story.findings({.temporary_events = 100}), 1).temporary, (Cost{110, 2}));
  EXPECT_EQ(of_stack(story.findings({.temporary_events = 0}), 1).temporary, Cost{});
}

TEST(Regrown, VectorThatGrewTenTimesGaveTenBlocksUpForLargerOnes) {
  Story story;
  story.make(kA, 8);
  std::uint64_t size = 8, address = kA;
  for (int i = 0; i < 10; ++i, size *= 2) {
    story.make(address + size, 2 * size, EventKind::New).end(address, EventKind::Delete);
    address += size;
  }
  const Figures figures = of_stack(story.end(address).findings(), 1);
  EXPECT_EQ(figures.regrown, (Cost{8 * 1023, 10})) << "the last block was only freed";
  EXPECT_EQ(figures.allocated.blocks - figures.regrown.blocks, 1u) << "one vector";
}

TEST(Regrown, BlockThatReallocOfItsOwnStackMadeLargerIs) {
  const Findings findings =
      Story().by(1, 1).make(kA, 10).by(1, 2).move(kA, kB, 11).move(kB, kB, 12).move(kB, kC, 6).findings();
  EXPECT_EQ(of_stack(findings, 1).regrown, Cost{}) << "malloc made it, and realloc the next";
  EXPECT_EQ(of_stack(findings, 2).regrown, (Cost{11, 1})) << "smaller is not grown";
}

TEST(Regrown, TheNewElementMayAllocateBeforeTheOldBlockIsFreed) {
  Story story;
  story.by(1, 1).make(kA, 64).make(kB, 128).by(1, 2).make(kC, 30).end(kC).end(kA);
  EXPECT_EQ(of_stack(story.findings(), 1).regrown, (Cost{64, 1}));
}

TEST(Regrown, BlocksOfEqualSizeMuchLargerOnesAndThoseOfOtherStacksAreNot) {
  EXPECT_EQ(of_stack(Story().make(kA, 64).make(kB, 64).end(kA).findings(), 1).regrown, Cost{});
  EXPECT_EQ(of_stack(Story().make(kA, 64).make(kB, 6400).end(kA).findings(), 1).regrown, Cost{});
  EXPECT_EQ(of_stack(Story().by(1, 1).make(kA, 64).by(1, 2).make(kB, 128).end(kA).findings(), 1).regrown, Cost{});
  EXPECT_EQ(of_stack(Story().by(1, 1).make(kA, 64).make(kB, 128).by(2, 1).end(kA).findings(), 1).regrown, Cost{});
}

TEST(Regrown, OneLargerBlockStandsForOneSmallerOne) {
  const Findings findings = Story().make(kA, 60).make(kB, 64).make(kC, 128).end(kA).end(kB).findings();
  EXPECT_EQ(of_stack(findings, 1).regrown, (Cost{60, 1}));
}

TEST(Lifetime, IsFromTheAllocationToTheRelease) {
  const Findings findings = Story().make(kA, 100).wait_us(90).end(kA).make(kB, 7).wait_us(5000).end(kB).findings();
  EXPECT_EQ(of_stack(findings, 1).lifetime_us, 100u + 5010u);
  EXPECT_EQ(of_stack(findings, 1).short_lived, (Cost{100, 1}));
  EXPECT_EQ(findings.lifetimes[log_bucket(100)].freed, (Cost{100, 1}));
  EXPECT_EQ(findings.lifetimes[log_bucket(5010)].freed, (Cost{7, 1}));
}

TEST(Lifetime, OfAMillisecondIsShortAndOneMicrosecondMoreIsNot) {
  Story story;
  story.make(kA, 1).wait_us(990).end(kA).make(kB, 2).wait_us(991).end(kB);
  EXPECT_EQ(of_stack(story.findings(), 1).short_lived, (Cost{1, 1}));
  EXPECT_EQ(of_stack(story.findings({.short_lived_us = 1001}), 1).short_lived, (Cost{3, 2}));
}

TEST(Lifetime, BlocksLiveAtTheEndStandByTheirAge) {
  const Findings findings = Story().make(kA, 100).wait_us(1000).make(kB, 7).findings();
  EXPECT_EQ(findings.lifetimes[log_bucket(1010)].live, (Cost{100, 1}));
  EXPECT_EQ(findings.lifetimes[0].live, (Cost{7, 1}));
}

TEST(Timeline, EveryBucketHasLowestHighestAndLast) {
  Story story; // events at 10, 20, ... us; 64 buckets over 640 us are 11 us long
  story.make(kA, 100).make(kB, 50).end(kA).wait_us(600).make(kC, 1);
  const Findings findings = story.findings();
  ASSERT_EQ(findings.timeline.levels.size(), 1u);
  const TimelineLevel& level = findings.timeline.levels[0];
  EXPECT_EQ(level.bucket_us, 11u);
  ASSERT_EQ(level.buckets.size(), 59u);
  EXPECT_EQ(level.buckets[0], (TimeBucket{0, 100, 100, 0, 1, 1, 100, 1, 0, 0}));
  EXPECT_EQ(level.buckets[1], (TimeBucket{100, 150, 150, 1, 2, 2, 50, 1, 0, 0}));
  EXPECT_EQ(level.buckets[2], (TimeBucket{50, 150, 50, 1, 2, 1, 0, 1, 0, 0}));
  EXPECT_EQ(level.buckets[30], (TimeBucket{50, 50, 50, 1, 1, 1, 0, 0, 0, 0})); // nothing happened
  EXPECT_EQ(level.buckets[58], (TimeBucket{50, 51, 51, 1, 2, 2, 1, 1, 0, 0}));
}

TEST(Timeline, CoarserLevelsSumUpFinerOnes) {
  Story story;
  for (std::uint64_t i = 0; i < 70'000; ++i) story.make(0x10000 + 16 * i, i % 100);
  const Findings findings = story.findings();
  ASSERT_EQ(findings.timeline.levels.size(), 2u);
  const TimelineLevel& coarse = findings.timeline.levels[0];
  const TimelineLevel& fine = findings.timeline.levels[1];
  EXPECT_EQ(coarse.bucket_us, 16 * fine.bucket_us);
  EXPECT_LE(fine.buckets.size(), 1024u);
  EXPECT_GT(fine.buckets.size(), 1000u);
  std::uint64_t events = 0, allocated = 0;
  for (const TimeBucket& bucket : coarse.buckets) {
    events += bucket.events;
    allocated += bucket.allocated_bytes;
  }
  EXPECT_EQ(events, 70'000u);
  EXPECT_EQ(allocated, findings.totals.allocated_bytes);
  EXPECT_EQ(coarse.buckets[1].min_bytes, fine.buckets[16].min_bytes);
  EXPECT_EQ(coarse.buckets[1].last_bytes, fine.buckets[31].last_bytes);
}

TEST(Timeline, ShowsWhatTheKernelSawBesideIt) {
  Findings findings = Story().wait_us(620).make(kA, 100).findings();
  ASSERT_EQ(findings.timeline.levels[0].bucket_us, 10u);
  const Sample samples[] = {{15, 1000, 500, 0, 0, 1}, {18, 900, 700, 0, 0, 1}, {300, 2000, 1500, 0, 0, 1}};
  join_samples(findings.timeline, samples);
  const auto& buckets = findings.timeline.levels[0].buckets;
  EXPECT_EQ(buckets[0].rss_bytes, 0u); // before the first sample
  EXPECT_EQ(buckets[1].rss_bytes, 1000u);
  EXPECT_EQ(buckets[1].anonymous_bytes, 700u);
  EXPECT_EQ(buckets[2].rss_bytes, 900u); // as it was last seen
  EXPECT_EQ(buckets[30].rss_bytes, 2000u);
}

TEST(Growth, TellsWhatGrowsSteadilyFromWhatGrewOnce) {
  Story story;
  story.by(1, 1).make(0x100, 1000);
  for (std::uint64_t i = 0; i < 159; ++i) story.by(1, 2).make(0x10000 + 16 * i, 10);
  const Growth growth = story.findings().growth;
  ASSERT_EQ(growth.stacks.size(), 2u);
  EXPECT_EQ(growth.moments_us[0], 100u);
  EXPECT_EQ(growth.moments_us[15], 1600u);
  for (std::size_t i = 0; i < kGrowthMoments; ++i) {
    EXPECT_EQ(growth.stacks[0].live[i], (Cost{1000, 1}));
    EXPECT_EQ(growth.stacks[1].live[i].blocks, 10 * (i + 1) - 1) << i;
  }
}

TEST(Threads, HaveTheTimesOfTheirFirstAndLastEvent) {
  const Findings findings = Story().by(1, 1).make(kA, 1).by(2, 1).make(kB, 1).wait_us(100).end(kB).findings();
  EXPECT_EQ(of_thread(findings, 2).first_us, 20u);
  EXPECT_EQ(of_thread(findings, 2).last_us, 130u);
  EXPECT_EQ(of_thread(findings, 2).events, 2u);
}

TEST(Threads, MayHaveAnyNumber) {
  const Findings findings = Story().by(4'000'000'000u, 1).make(kA, 1).by(0, 1).make(kB, 2).findings();
  EXPECT_EQ(of_thread(findings, 4'000'000'000u).live(), (Cost{1, 1}));
  EXPECT_EQ(of_thread(findings, 0).live(), (Cost{2, 1}));
}

} // namespace
} // namespace heaptape
