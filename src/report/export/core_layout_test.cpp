#include "report/export/core_layout.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

constexpr std::uint64_t kPage = kPageBytes;

CoreLayout laid_out(std::vector<MappedRange> regions, std::vector<PageRun> runs, bool is_known = true) {
  return lay_out_core(regions, runs, [=](std::uint64_t) { return is_known; });
}

TEST(CoreLayout, APartThatWasNotCopiedHasNoBytesInTheFile) {
  const CoreLayout layout =
      laid_out({{0x1000, 0x6000, 0, 0, kMapRead | kMapWrite}}, {{0x1000, 0x2000, PageState::Stored, 1},
                                                                {0x2000, 0x3000, PageState::Zero},
                                                                {0x3000, 0x4000, PageState::LeftOut},
                                                                {0x4000, 0x6000, PageState::Fill, 7}});
  const std::vector<CoreSegment> expected{{0x1000, 0x3000, 2 * kPage, kMapRead | kMapWrite},
                                          {0x3000, 0x4000, 0, kMapRead | kMapWrite},
                                          {0x4000, 0x6000, 2 * kPage, kMapRead | kMapWrite}};
  EXPECT_EQ(layout.segments, expected);
  EXPECT_EQ(layout.missing_bytes[static_cast<std::size_t>(PageState::LeftOut)], kPage);
}

TEST(CoreLayout, PagesOfAFileAreFilledInOnlyWhereTheProgramChangedOthersOfTheMapping) {
  const CoreLayout layout =
      laid_out({{0x1000, 0x4000, 0, 1, kMapRead | kMapExecute}, {0x4000, 0x6000, 0x3000, 1, kMapRead | kMapWrite}},
               {{0x1000, 0x4000, PageState::OfFile},
                {0x4000, 0x5000, PageState::Stored, 1},
                {0x5000, 0x6000, PageState::OfFile}});
  const std::vector<CoreSegment> expected{{0x1000, 0x4000, kPage, kMapRead | kMapExecute},
                                          {0x4000, 0x6000, 2 * kPage, kMapRead | kMapWrite}};
  EXPECT_EQ(layout.segments, expected);
}

TEST(CoreLayout, PagesOfAFileThatIsAnotherOneByNowAreLeftToTheDebugger) {
  const CoreLayout layout =
      laid_out({{0x1000, 0x3000, 0, 1, kMapRead | kMapWrite}},
               {{0x1000, 0x2000, PageState::OfFile}, {0x2000, 0x3000, PageState::Stored, 1}}, false);
  const std::vector<CoreSegment> expected{{0x1000, 0x2000, 0, kMapRead | kMapWrite},
                                          {0x2000, 0x3000, kPage, kMapRead | kMapWrite}};
  EXPECT_EQ(layout.segments, expected);
}

TEST(CoreLayout, AGuardPageIsNotMissing) {
  const CoreLayout layout = laid_out({{0x1000, 0x2000, 0, 0, 0}}, {{0x1000, 0x2000, PageState::Refused}});
  EXPECT_EQ(layout.missing_bytes[static_cast<std::size_t>(PageState::Refused)], 0U);
}

TEST(CoreLayout, AReservationOfTerabytesSharesOneHoleOfTheFile) {
  const std::uint64_t begin = std::uint64_t{1} << 44, end = begin + 3 * CoreLayout::kHoleBytes + kPage;
  const CoreLayout layout = laid_out({{begin, end, 0, 0, kMapRead | kMapWrite}}, {{begin, end, PageState::Zero}});
  ASSERT_EQ(layout.segments.size(), 4U);
  std::uint64_t in_file = 0;
  for (const CoreSegment& segment : layout.segments) in_file += segment.hole ? 0 : segment.bytes;
  EXPECT_EQ(in_file, kPage);
  EXPECT_EQ(layout.segments.back().end, end);
}

TEST(CoreLayout, OneWordThatFillsTheAddressSpaceIsNotWritten) {
  const std::uint64_t end = std::uint64_t{1} << 47;
  const CoreLayout layout = laid_out({{0x1000, end, 0, 0, kMapRead}}, {{0x1000, end, PageState::Fill, 7}});
  ASSERT_EQ(layout.segments.size(), 1U);
  EXPECT_EQ(layout.segments[0].bytes, 0U);
}

} // namespace
} // namespace heaptape
