#include "tape/cpu_codec.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/byte_cursor.h"
#include "tape/reader.h"
#include "tape/writer.h"

namespace heaptape {
namespace {

CpuProfile some_profile() {
  CpuProfile profile;
  profile.segments = {{1, 100, 5, 2'000'000}, {2, 250, 2'000'001, 0}};
  profile.samples = {{10, ThreadId(1), StackId(7), 1, 1},
                     {9, ThreadId(3), StackId(2), 4'000'000'000u, 1}, // two threads' stamps may cross
                     {2'000'100, ThreadId(1), StackId(), 2, 2}};
  return profile;
}

std::vector<std::byte> encoded(const CpuProfile& profile) {
  std::vector<std::byte> out;
  put_cpu(profile.segments, profile.samples, out);
  return out;
}

TEST(CpuCodec, WhatIsPutComesBack) {
  CpuProfile back;
  EXPECT_TRUE(parse_cpu(encoded(some_profile()), back));
  EXPECT_EQ(back, some_profile());
  ASSERT_NE(back.find(2), nullptr);
  EXPECT_EQ(back.find(2)->hz, 250u);
  EXPECT_EQ(back.find(3), nullptr);
}

TEST(CpuCodec, ALaterSegmentOfTheSameNumberReplacesTheEarlierAndSamplesAdd) {
  CpuProfile profile = some_profile(), back;
  EXPECT_TRUE(parse_cpu(encoded(profile), back));
  profile.segments = {{2, 250, 2'000'001, 3'000'000}};
  profile.samples.resize(1);
  EXPECT_TRUE(parse_cpu(encoded(profile), back));
  ASSERT_EQ(back.segments.size(), 2u);
  EXPECT_EQ(back.segments[1].end_us, 3'000'000u);
  EXPECT_EQ(back.samples.size(), 4u);
}

TEST(CpuCodec, AnyCutIsNoticedAndLeavesNoHalfSample) {
  const std::vector<std::byte> whole = encoded(some_profile());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CpuProfile back;
    EXPECT_FALSE(parse_cpu(std::span(whole).first(size), back)) << size;
    EXPECT_TRUE(back.samples.empty());
  }
}

TEST(CpuCodec, ACountThatTheBytesDoNotBackIsRefused) {
  std::vector<std::byte> out;
  ByteWriter writer(out);
  writer.varint(0);
  writer.varint(std::uint64_t{1} << 60);
  CpuProfile back;
  EXPECT_FALSE(parse_cpu(out, back));
}

TEST(CpuCodec, BytesOfALaterVersionBehindTheColumnsAreIgnored) {
  std::vector<std::byte> out = encoded(some_profile());
  out.resize(out.size() + 9);
  CpuProfile back;
  EXPECT_TRUE(parse_cpu(out, back));
  EXPECT_EQ(back, some_profile());
}

TEST(CpuBlocks, AreReadBackFromATapeAndNameNoStackThatIsNotThere) {
  std::string path = "/tmp/heaptape-cpu-XXXXXX";
  ::close(::mkstemp(path.data()));
  auto writer = TapeWriter::create({.path = path, .overwrite = true, .start_realtime_ns = 1, .pid = 1});
  ASSERT_TRUE(writer.ok());
  const std::vector<StackNode> nodes(5, StackNode{StackId(), 0x5555});
  CpuProfile profile = some_profile(); // its first sample names stack 7, and there are five
  ASSERT_TRUE(writer.value().add_stacks(StackId(1), nodes).ok());
  ASSERT_TRUE(writer.value().add_cpu(profile).ok());
  ASSERT_TRUE(writer.value().add_cpu({.segments = {{2, 250, 2'000'001, 9'000'000}}, .samples = {}}).ok());
  const Result<TapeReader> tape = TapeReader::open(path);
  ::unlink(path.c_str());
  ASSERT_TRUE(tape.ok());
  profile.samples[0].stack = StackId();
  profile.segments[1].end_us = 9'000'000;
  EXPECT_EQ(tape.value().cpu(), profile);
  EXPECT_TRUE(tape.value().damage().empty());
}

} // namespace
} // namespace heaptape
