#include "analysis/moment/cpu_times.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

CpuProfile two_segments() {
  CpuProfile profile;
  profile.segments = {{1, 100, 0, 1000}, {2, 1000, 1000, 0}};
  profile.samples = {{100, ThreadId(1), StackId(5), 1, 1},
                     {200, ThreadId(2), StackId(5), 1, 1},
                     {300, ThreadId(1), StackId(5), 3, 1},
                     {1500, ThreadId(1), StackId(4), 2, 2}};
  return profile;
}

TEST(CpuTimes, AWeightIsSoManyPeriodsOfItsSegment) {
  const std::vector<StackTime> times = cpu_times(two_segments());
  EXPECT_EQ(times, (std::vector<StackTime>{{StackId(4), ThreadId(1), {2'000, 2, 1}},
                                           {StackId(5), ThreadId(1), {40'000, 4, 2}},
                                           {StackId(5), ThreadId(2), {10'000, 1, 1}}}));
}

TEST(CpuTimes, ASegmentHasItsOwnSamplesOnly) {
  EXPECT_EQ(cpu_times(two_segments(), {.segment = 2}),
            (std::vector<StackTime>{{StackId(4), ThreadId(1), {2'000, 2, 1}}}));
  EXPECT_TRUE(cpu_times(two_segments(), {.segment = 3}).empty());
}

TEST(CpuTimes, BothEndsOfARangeCount) {
  EXPECT_EQ(cpu_times(two_segments(), {.from_us = 200, .to_us = 300, .threads = {ThreadId(1)}}),
            (std::vector<StackTime>{{StackId(5), ThreadId(1), {30'000, 3, 1}}}));
}

TEST(CpuTimes, WithoutItsSegmentASampleCountsAtTheUsualRate) {
  CpuProfile profile = two_segments();
  profile.segments.clear();
  EXPECT_EQ(cpu_times(profile, {.segment = 2}).front().time.us, 20'000u);
}

} // namespace
} // namespace heaptape
