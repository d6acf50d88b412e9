#include "collector/contents/memory_plan.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

constexpr std::uint8_t kReadWrite = kMapRead | kMapWrite;

Treatment treatment(std::string_view name, std::uint8_t permissions, std::vector<PageRange> left_out = {}) {
  MapNames names;
  const MappedRange range{0x1000, 0x3000, 0, names.number_of(name), permissions};
  return plan_memory(std::span(&range, 1), names, left_out).front().treatment;
}

TEST(MemoryPlan, EachSortOfMappingIsTreatedAsItMust) {
  EXPECT_EQ(treatment("", kReadWrite), Treatment::Anonymous);
  EXPECT_EQ(treatment("[heap]", kReadWrite), Treatment::Anonymous);
  EXPECT_EQ(treatment("[stack]", kReadWrite), Treatment::Anonymous);
  EXPECT_EQ(treatment("[anon:pool]", kReadWrite), Treatment::Anonymous);
  EXPECT_EQ(treatment("/usr/lib/libc.so.6", kMapRead | kMapExecute), Treatment::File);
  EXPECT_EQ(treatment("/tmp/gone (deleted)", kReadWrite), Treatment::Anonymous);
  EXPECT_EQ(treatment("/memfd:x (deleted)", kReadWrite | kMapShared), Treatment::Shared);
  EXPECT_EQ(treatment("", 0), Treatment::Refused);
  EXPECT_EQ(treatment("/dev/dri/card0", kReadWrite | kMapShared), Treatment::Refused);
  EXPECT_EQ(treatment("/dev/zero (deleted)", kReadWrite | kMapShared), Treatment::Shared);
  EXPECT_EQ(treatment("[vvar]", kMapRead), Treatment::Skip);
  EXPECT_EQ(treatment("[vsyscall]", kMapExecute), Treatment::Skip);
  EXPECT_EQ(treatment("[vdso]", kMapRead | kMapExecute), Treatment::Anonymous);
}

TEST(MemoryPlan, WhatIsNotToBeDumpedIsLeftOut) {
  EXPECT_EQ(treatment("", kReadWrite, {{0x2000, 0x3000}}), Treatment::LeftOut);
  EXPECT_EQ(treatment("", kReadWrite, {{0x0, 0x1000}, {0x3000, 0x4000}}), Treatment::Anonymous);
}

TEST(MemoryPlan, RangesWithoutHoles) {
  const std::vector<PageRange> holes{{0x2000, 0x3000}, {0x5000, 0x9000}};
  const auto left = [&](PageRange range) { return without(std::span(&range, 1), holes); };
  EXPECT_EQ(left({0x0, 0x2000}), (std::vector<PageRange>{{0x0, 0x2000}}));
  EXPECT_EQ(left({0x1000, 0x4000}), (std::vector<PageRange>{{0x1000, 0x2000}, {0x3000, 0x4000}}));
  EXPECT_EQ(left({0x6000, 0x7000}), (std::vector<PageRange>{}));
  EXPECT_EQ(left({0x2000, 0xa000}), (std::vector<PageRange>{{0x3000, 0x5000}, {0x9000, 0xa000}}));
}

TEST(MemoryPlan, WishesAreReadFromSmapsInAnyPieces) {
  const std::string text = "7f00000000-7f00002000 rw-p 00000000 00:00 0 \n"
                           "Size:                  8 kB\n"
                           "VmFlags: rd wr mr mw me ac dd \n"
                           "7f00002000-7f00003000 rw-p 00000000 00:00 0 \n"
                           "VmFlags: rd wr mr mw me dc wf \n"
                           "7f00003000-7f00004000 r--p 00000000 08:01 12  /a dd\n"
                           "VmFlags: rd mr mw me \n";
  for (std::size_t piece = 1; piece < 40; ++piece) {
    SmapsText smaps;
    for (std::size_t at = 0; at < text.size(); at += piece) smaps.add(std::string_view(text).substr(at, piece));
    const MemoryWishes wishes = smaps.take();
    EXPECT_EQ(wishes.not_dumped, (std::vector<PageRange>{{0x7f00000000, 0x7f00002000}}));
    EXPECT_EQ(wishes.not_forked, (std::vector<PageRange>{{0x7f00002000, 0x7f00003000}}));
  }
}

} // namespace
} // namespace heaptape
