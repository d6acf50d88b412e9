#include "collector/observe/maps_text.h"

#include <gtest/gtest.h>

#include <string>

namespace heaptape {
namespace {

std::vector<MappedRange> parse(std::string_view text, MapNames& names) {
  MapsText lines;
  lines.add(text, names);
  return lines.take();
}

constexpr std::uint8_t kRw = kMapRead | kMapWrite;

TEST(MapsText, ReadsWhatTheKernelWrites) {
  MapNames names;
  const auto ranges = parse("55a1c0e00000-55a1c0e21000 r-xp 00002000 fe:01 1311   /usr/bin/cat\n"
                            "55a1c1000000-55a1c1021000 rw-p 00000000 00:00 0      [heap]\n"
                            "7f0000000000-7f0000001000 ---p 00000000 00:00 0 \n"
                            "7f0000001000-7f0000002000 rw-s 00000000 00:05 99 /dev/zero (deleted)\n"
                            "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n",
                            names);
  ASSERT_EQ(ranges.size(), 5u);
  EXPECT_EQ(ranges[0], (MappedRange{0x55a1c0e00000, 0x55a1c0e21000, 0x2000, 1, kMapRead | kMapExecute}));
  EXPECT_EQ(names[1], "/usr/bin/cat");
  EXPECT_EQ(ranges[1], (MappedRange{0x55a1c1000000, 0x55a1c1021000, 0, 2, kRw}));
  EXPECT_EQ(ranges[2], (MappedRange{0x7f0000000000, 0x7f0000001000, 0, 0, 0}));
  EXPECT_EQ(ranges[3].permissions, kRw | kMapShared);
  EXPECT_EQ(names[ranges[3].name], "/dev/zero (deleted)");
  EXPECT_EQ(names[ranges[4].name], "[vsyscall]");
}

TEST(MapsText, NamesMayHoldAnythingButANewline) {
  MapNames names;
  const auto ranges = parse("1000-2000 r--p 00000000 fe:01 7 /tmp/with  two spaces and \\012 [heap]\n"
                            "2000-3000 r--p 00000000 fe:01 8 /tmp/\x01\xff\ttab (deleted) (deleted)\n"
                            "3000-4000 r--p 00000000 fe:01 9 /tmp/1000-2000 rw-p 00000000 00:00 0 \n",
                            names);
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(names[1], "/tmp/with  two spaces and \\012 [heap]");
  EXPECT_EQ(names[2], "/tmp/\x01\xff\ttab (deleted) (deleted)");
  EXPECT_EQ(names[3], "/tmp/1000-2000 rw-p 00000000 00:00 0 ");
}

TEST(MapsText, LinesWithoutSenseOrOutOfOrderAreLeftOut) {
  MapNames names;
  const auto ranges = parse("\n"
                            "nonsense\n"
                            "2000-1000 rw-p 00000000 00:00 0 \n" // backwards
                            "1000-1800 rw-p 00000000 00:00 0 \n" // half a page
                            "1000-3000 rw-p 00000000 00:00 0\n"
                            "2000-4000 rw-p 00000000 00:00 0 \n" // overlaps
                            "4000-5000 rw-p\n"
                            "5000-6000 rw-p 00000000 00:00 0 \n"
                            "6000-7000 rw-p 00000000 00:00 0 /cut of",
                            names);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].end, 0x3000u);
  EXPECT_EQ(ranges[1].begin, 0x5000u);
}

TEST(MapsText, PiecesOfAnySizeReadTheSame) {
  const std::string text = "1000-2000 r--p 00000000 fe:01 7 /tmp/file\n2000-3000 rw-p 00000000 00:00 0 \n";
  MapNames whole_names;
  const auto whole = parse(text, whole_names);
  ASSERT_EQ(whole.size(), 2u);
  for (std::size_t size = 1; size < text.size(); ++size) {
    MapNames names;
    MapsText lines;
    for (std::size_t at = 0; at < text.size(); at += size) lines.add(std::string_view(text).substr(at, size), names);
    EXPECT_EQ(lines.take(), whole) << size;
    EXPECT_EQ(names.texts(), whole_names.texts()) << size;
  }
}

} // namespace
} // namespace heaptape
