// The peak of heap plus own mappings: which mappings count, and what was there at that moment.
#include "analysis/index/total_peak.h"

#include <gtest/gtest.h>

#include "analysis/heap/cost_for_test.h"
#include "analysis/index/story_for_test.h"

namespace heaptape {
namespace {

using test::Story;

TEST(TotalPeak, WithoutMappingsThereIsNone) { EXPECT_FALSE(Story().make(0x1000, 100).findings().total_peak); }

TEST(TotalPeak, IsAMomentOfItsOwnWithItsComposition) {
  Story story;
  story.by(1, 1).make(0x1000, 50000).end(0x1000);                   // the heap's peak: events 1 and 2
  story.by(1, 2).make(0x1000, 3000).by(2, 3).map(0x10000, 0x10000); // the peak of both: event 4
  story.by(1, 2).unmap(0x10000, 0x10000).make(0x3000, 100);
  const Findings findings = story.findings();
  EXPECT_EQ(findings.totals.peak_event, 1u);
  ASSERT_TRUE(findings.total_peak);
  const TotalPeak& peak = *findings.total_peak;
  EXPECT_EQ(peak.event, 4u);
  EXPECT_EQ(peak.bytes, 3000u + 0x10000);
  EXPECT_EQ(peak.heap_bytes, 3000u);
  EXPECT_EQ(peak.blocks, (std::vector<OwnerShare>{{{StackId(2), ThreadId(1)}, {3000, 1}}}));
  EXPECT_EQ(peak.mappings, (std::vector<StackShare>{{StackId(3), {0x10000, 1}}}));
}

TEST(TotalPeak, OfTheHeapAloneStaysWhenMappingsComeTooLate) {
  Story story;
  story.by(1, 1).make(0x1000, 50000).end(0x1000).by(1, 2).map(0x10000, 0x1000).make(0x1000, 10).end(0x1000);
  const TotalPeak peak = story.findings().total_peak.value();
  EXPECT_EQ(peak.event, 1u);
  EXPECT_EQ(peak.bytes, 50000u);
  EXPECT_EQ(peak.blocks, (std::vector<OwnerShare>{{{StackId(1), ThreadId(1)}, {50000, 1}}}));
  EXPECT_TRUE(peak.mappings.empty());
}

TEST(TotalPeak, BlocksInsideAMappingCountOnce) {
  // The mapping counts until its first block shows that it is an allocator's; after that, the blocks do.
  Story story;
  story.by(1, 1).map(0x10000, 0x2000).make(0x10000, 100).make(0x90000, 0x3000).make(0x11000, 200);
  const TotalPeak peak = story.findings().total_peak.value();
  EXPECT_EQ(peak.event, 4u);
  EXPECT_EQ(peak.bytes, 0x3000u + 300);
  EXPECT_TRUE(peak.mappings.empty());
}

TEST(TotalPeak, MappingsOfAnAllocatorNeverCount) {
  Story story;
  story.by(1, 7).map(0x10000, 0x10000).by(1, 1).make(0x10000, 100).by(1, 2).map(0x90000, 0x1000);
  ReplayOptions options;
  options.is_allocators = [](StackId stack) { return stack == StackId(7); };
  const TotalPeak peak = story.findings(options).total_peak.value();
  EXPECT_EQ(peak.bytes, 0x1000u + 100);
  EXPECT_EQ(peak.mappings, (std::vector<StackShare>{{StackId(2), {0x1000, 1}}}));
}

TEST(TotalPeak, ReservationsAndFilesDoNotCount) {
  Story story;
  story.reserve(0x100000, 0x100000).map(0x10000, 0x4000, EventKind::MmapFile).map(0x20000, 0x1000);
  const TotalPeak peak = story.findings().total_peak.value();
  EXPECT_EQ(peak.bytes, 0x1000u);
  EXPECT_EQ(peak.event, 3u);
}

TEST(TotalPeak, APartThatIsUnmappedNoLongerCounts) {
  Story story;
  story.by(1, 1).map(0x10000, 0x4000).unmap(0x11000, 0x1000).by(1, 2).make(0x90000, 0x1800);
  const TotalPeak peak = story.findings().total_peak.value();
  EXPECT_EQ(peak.bytes, 0x3000u + 0x1800);
  EXPECT_EQ(peak.mappings, (std::vector<StackShare>{{StackId(1), {0x3000, 2}}}));
}

} // namespace
} // namespace heaptape
