// The definitions of docs/definitions.md for mappings, one small history each.
#include "analysis/index/replay.h"

#include <gtest/gtest.h>

#include "analysis/heap/cost_for_test.h"
#include "analysis/index/story_for_test.h"

namespace heaptape {
namespace {

using test::Story;

TEST(Mapping, IsNoHeapBlock) {
  const Findings findings = Story().map(0x10000, 5000).findings();
  EXPECT_EQ(findings.totals.peak_bytes, 0u);
  EXPECT_EQ(findings.mappings.anonymous.open, (Cost{8192, 1})); // whole pages
  EXPECT_TRUE(findings.by_owner.empty());
}

TEST(Mapping, UnmappedInTheMiddleIsTwo) {
  const Findings findings = Story().map(0x10000, 0x5000).unmap(0x12000, 0x1000).findings();
  EXPECT_EQ(findings.mappings.anonymous.open, (Cost{0x4000, 2}));
  EXPECT_EQ(findings.mappings.anonymous.mapped, (Cost{0x5000, 1}));
  EXPECT_EQ(findings.mappings.anonymous.most_bytes, 0x5000u);
}

TEST(Mapping, UnmappingMayReachOverSeveral) {
  Story story;
  story.by(1, 1).map(0x10000, 0x2000).by(1, 2).map(0x12000, 0x2000, EventKind::MmapFile).unmap(0x11000, 0x2000);
  const Findings findings = story.findings();
  EXPECT_EQ(findings.mappings.anonymous.open, (Cost{0x1000, 1}));
  EXPECT_EQ(findings.mappings.file.open, (Cost{0x1000, 1}));
  ASSERT_EQ(findings.mappings.by_stack.size(), 2u);
  EXPECT_EQ(findings.mappings.by_stack[1].open, (Cost{0x1000, 1}));
  EXPECT_EQ(findings.mappings.by_stack[1].most_bytes, 0x2000u);
}

TEST(Mapping, MadeOverAnotherTakesItsPlace) {
  const Findings findings = Story().by(1, 1).map(0x10000, 0x4000).by(1, 2).map(0x11000, 0x1000).findings();
  EXPECT_EQ(findings.mappings.anonymous.open, (Cost{0x4000, 3}));
  EXPECT_EQ(findings.mappings.anonymous.most_bytes, 0x4000u);
  EXPECT_EQ(findings.mappings.by_stack[0].open, (Cost{0x3000, 2}));
}

TEST(Mapping, MovedIsOneStepAndBelongsToTheMremap) {
  Story story;
  story.by(1, 1).map(0x10000, 0x4000, EventKind::MmapFile).by(1, 2).remap(0x10000, 0x4000, 0x90000, 0x6000);
  const Findings findings = story.findings();
  EXPECT_EQ(findings.mappings.file.open, (Cost{0x6000, 1})); // of the same sort as it was
  EXPECT_EQ(findings.mappings.file.most_bytes, 0x6000u);
  EXPECT_EQ(findings.mappings.by_stack[0].open, Cost{});
  EXPECT_EQ(findings.mappings.by_stack[1].open, (Cost{0x6000, 1}));
}

TEST(Mapping, GrownOrShrunkInPlaceHasItsNewSize) {
  Story story;
  story.map(0x10000, 0x4000).remap(0x10000, 0x4000, 0x10000, 0x8000).remap(0x10000, 0x8000, 0x10000, 0x1000);
  EXPECT_EQ(story.findings().mappings.anonymous.open, (Cost{0x1000, 1}));
  EXPECT_EQ(story.findings().mappings.anonymous.most_bytes, 0x8000u);
}

TEST(Mapping, RemappedFromNoSizeStaysWhereItWas) {
  const Findings findings = Story().map(0x10000, 0x2000).remap(0x10000, 0, 0x90000, 0x2000).findings();
  EXPECT_EQ(findings.mappings.anonymous.open, (Cost{0x4000, 2}));
}

TEST(Mapping, UnmappedWithoutHavingBeenMappedIsCounted) {
  const Findings findings = Story().unmap(0x10000, 0x1000).map(0x20000, 0x1000).unmap(0x10000, 0x1000).findings();
  EXPECT_EQ(findings.mappings.unknown_unmaps, 2u);
  EXPECT_EQ(findings.mappings.anonymous.open, (Cost{0x1000, 1}));
}

TEST(Mapping, AtTheEndOfTheAddressSpaceIsCutThere) {
  const Findings findings = Story().map(~std::uint64_t{0} - 0x1fff, ~std::uint64_t{0}).findings();
  EXPECT_EQ(findings.mappings.anonymous.open, (Cost{0x1000, 1}));
}

TEST(Mapping, OpenAtTheHeapsPeakIsRemembered) {
  Story story;
  story.map(0x10000, 0x4000).make(0x1000, 100).unmap(0x10000, 0x4000).end(0x1000);
  EXPECT_EQ(story.findings().mappings.anonymous_at_peak_bytes, 0x4000u);
}

} // namespace
} // namespace heaptape
