#include "collector/contents/snapshot_schedule.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(SnapshotSchedule, TimeIsCountedFromTheLastOne) {
  SnapshotSchedule schedule({.every_us = 1000});
  EXPECT_FALSE(schedule.due({.time_us = 999}));
  EXPECT_TRUE(schedule.due({.time_us = 1000}));
  EXPECT_FALSE(schedule.due({.time_us = 1999}));
  schedule.taken({.time_us = 1500}); // for another reason
  EXPECT_FALSE(schedule.due({.time_us = 2400}));
  EXPECT_TRUE(schedule.due({.time_us = 2500}));
}

TEST(SnapshotSchedule, GrowthIsCountedFromTheLowestPoint) {
  SnapshotSchedule schedule({.growth_bytes = 100});
  EXPECT_TRUE(schedule.due({.live_bytes = 150}));
  EXPECT_FALSE(schedule.due({.live_bytes = 240}));
  EXPECT_FALSE(schedule.due({.live_bytes = 20}));
  EXPECT_TRUE(schedule.due({.live_bytes = 120}));
}

TEST(SnapshotSchedule, APeakIsSeenWhenTheHeapBeginsToShrink) {
  SnapshotSchedule schedule({.peak = true});
  EXPECT_TRUE(schedule.due({.live_bytes = 10 * kMiB})) << "the first";
  EXPECT_FALSE(schedule.due({.live_bytes = 11 * kMiB})) << "it grows";
  EXPECT_TRUE(schedule.due({.live_bytes = 11 * kMiB - 1})) << "it shrinks";
  EXPECT_FALSE(schedule.due({.live_bytes = 9 * kMiB}));
  EXPECT_FALSE(schedule.due({.live_bytes = 11 * kMiB}));
  EXPECT_TRUE(schedule.due({.live_bytes = 20 * kMiB})) << "much more than ever";
}

TEST(SnapshotSchedule, OnlyMarksThatWereNamedCount) {
  const SnapshotSchedule schedule({.marks = {"warm"}});
  EXPECT_TRUE(schedule.wants_mark("warm"));
  EXPECT_FALSE(schedule.wants_mark("warmer"));
}

} // namespace
} // namespace heaptape
