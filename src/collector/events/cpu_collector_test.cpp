#include "collector/events/cpu_collector.h"

#include <gtest/gtest.h>

#include "wire/cpu_record.h"

namespace heaptape {
namespace {

RingItem item_of(wire::CpuRecord what, std::uint32_t segment, std::uint32_t value, std::uint32_t thread = 1) {
  return {static_cast<std::uint64_t>(EventKind::CpuSample), wire::cpu_address(what, segment), value, thread, 0};
}

TEST(CpuCollector, ASegmentIsGivenWhenItBeginsAndAgainWhenItEnds) {
  CpuCollector collector;
  EXPECT_TRUE(collector.add(item_of(wire::CpuRecord::Begin, 1, 100), 50, StackId()));
  EXPECT_TRUE(collector.add(item_of(wire::CpuRecord::Sample, 1, 3, 7), 60, StackId(4)));
  const CpuProfile first = collector.take();
  EXPECT_EQ(first.segments, (std::vector<CpuSegment>{{1, 100, 50, 0}}));
  EXPECT_EQ(first.samples, (std::vector<CpuSample>{{60, ThreadId(7), StackId(4), 3, 1}}));
  EXPECT_FALSE(collector.anything_new());
  EXPECT_TRUE(collector.add(item_of(wire::CpuRecord::End, 1, 0), 90, StackId()));
  EXPECT_EQ(collector.take().segments, (std::vector<CpuSegment>{{1, 100, 50, 90}}));
  EXPECT_EQ(collector.taken_in(), 1u);
}

TEST(CpuCollector, RecordsThatMakeNoSenseAreRefused) {
  CpuCollector collector;
  EXPECT_FALSE(collector.add(item_of(wire::CpuRecord::Sample, 1, 0), 1, StackId()));
  EXPECT_FALSE(collector.add(item_of(wire::CpuRecord::End, 1, 0), 1, StackId()));
  EXPECT_FALSE(collector.add(item_of(wire::CpuRecord::Begin, 0, 100), 1, StackId()));
  EXPECT_FALSE(collector.add(item_of(static_cast<wire::CpuRecord>(9), 1, 1), 1, StackId()));
  EXPECT_TRUE(collector.add(item_of(wire::CpuRecord::Begin, 1, 100), 1, StackId()));
  EXPECT_FALSE(collector.add(item_of(wire::CpuRecord::Begin, 1, 100), 2, StackId()));
  EXPECT_TRUE(collector.add(item_of(wire::CpuRecord::End, 1, 0), 3, StackId()));
  EXPECT_FALSE(collector.add(item_of(wire::CpuRecord::End, 1, 0), 4, StackId()));
}

} // namespace
} // namespace heaptape
