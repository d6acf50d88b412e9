#include "analysis/space/heap_ranges.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

Block block(std::uint64_t address, std::uint64_t size) { return {address, size, 1, 0, 0}; }

SpaceRange range(std::uint64_t begin, std::uint64_t end, RangeKind kind) {
  SpaceRange made;
  made.begin = begin;
  made.end = end;
  made.committed = end - begin;
  made.kind = kind;
  return made;
}

TEST(RangeFigures, NameSpanLargestGapAndPagesHeldByLittle) {
  const std::vector<Block> blocks{block(0x1010, 16), block(0x1020, 16), block(0x3000, 4096), block(0x5ff0, 32)};
  const RangeFigures figures = range_figures(blocks);
  EXPECT_EQ(figures.live, (Cost{4160, 4}));
  EXPECT_EQ(figures.first, 0x1010u);
  EXPECT_EQ(figures.last, 0x6010u);
  EXPECT_EQ(figures.span(), 0x5000u);
  EXPECT_EQ(figures.gap_begin, 0x4000u);
  EXPECT_EQ(figures.gap_bytes, 0x1ff0u);
  EXPECT_EQ(figures.unused(), 0x5000u - 4160);
  EXPECT_EQ(figures.pages, 4u);        // 1, 3, 5 and 6
  EXPECT_EQ(figures.little_pages, 3u); // all but 3
}

TEST(RangeFigures, LargeBlockCoversWholePages) {
  const std::vector<Block> blocks{block(0x1800, 0x10000), block(0x11800, 8)};
  const RangeFigures figures = range_figures(blocks);
  EXPECT_EQ(figures.pages, 17u);
  EXPECT_EQ(figures.little_pages, 0u);
}

TEST(RangeFigures, NothingLiveIsNothing) { EXPECT_EQ(range_figures({}), RangeFigures{}); }

TEST(HeapRanges, ThoseWithBlocksAndEveryArenaAreListed) {
  AddressSpace space;
  space.ranges = {range(0x1000, 0x9000, RangeKind::MainHeap), range(0x10000, 0x20000, RangeKind::Anonymous),
                  range(0x20000, 0x30000, RangeKind::Module), range(0x40000, 0x50000, RangeKind::Anonymous)};
  const std::vector<Block> blocks{block(0x40010, 64)};
  const std::vector<HeapRange> ranges = heap_ranges(space, blocks);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].kind, RangeKind::MainHeap);
  EXPECT_EQ(ranges[0].figures, RangeFigures{});
  EXPECT_EQ(ranges[1].begin, 0x40000u);
  EXPECT_EQ(ranges[1].figures.live, (Cost{64, 1}));
}

TEST(HeapRanges, MappingsSideBySideAreOne) {
  AddressSpace space;
  space.ranges = {range(0x10000, 0x20000, RangeKind::Anonymous), range(0x20000, 0x30000, RangeKind::Anonymous),
                  range(0x31000, 0x40000, RangeKind::Anonymous)};
  const std::vector<Block> blocks{block(0x10010, 64), block(0x20010, 64), block(0x31010, 64)};
  const std::vector<HeapRange> ranges = heap_ranges(space, blocks);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].end, 0x30000u);
  EXPECT_EQ(ranges[0].committed, 0x20000u);
  EXPECT_EQ(ranges[0].figures.live, (Cost{128, 2}));
  EXPECT_EQ(ranges[1].figures.live, (Cost{64, 1}));
}

TEST(HeapRanges, BlocksWithoutAMappingMakeTheirOwn) {
  AddressSpace space;
  space.ranges = {range(0x100'0000, 0x100'1000, RangeKind::MainHeap)};
  const std::vector<Block> blocks{block(0x1010, 64), block(0x4010, 0x1000), block(0x100'0010, 8), block(0x900'0000, 1)};
  const std::vector<HeapRange> ranges = heap_ranges(space, blocks);
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_FALSE(ranges[0].known);
  EXPECT_EQ(ranges[0].begin, 0x1000u);
  EXPECT_EQ(ranges[0].end, 0x6000u);
  EXPECT_EQ(ranges[0].figures.live.blocks, 2u);
  EXPECT_TRUE(ranges[1].known);
  EXPECT_FALSE(ranges[2].known);
  EXPECT_EQ(ranges[2].end, 0x900'1000u);
}

TEST(HeapRanges, PlaceOfABlockCountsAsCommitted) {
  AddressSpace space;
  space.ranges = {range(0x400'0000, 0x800'0000, RangeKind::ThreadArena)};
  space.ranges[0].committed = 0x1000;
  const std::vector<Block> blocks{block(0x400'2000, 0x100)};
  EXPECT_EQ(heap_ranges(space, blocks)[0].committed, 0x2100u);
}

} // namespace
} // namespace heaptape
