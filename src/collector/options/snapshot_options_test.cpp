#include "collector/options/snapshot_options.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

TEST(SnapshotOptions, AllReasonsAreRead) {
  const Result<SnapshotTriggers> read = parse_snapshot_triggers("every:10s,growth:200M,events:1000,peak,mark:warm");
  ASSERT_TRUE(read) << read.error().sentence;
  EXPECT_EQ(read.value().every_us, 10'000'000u);
  EXPECT_EQ(read.value().growth_bytes, 200'000'000u);
  EXPECT_EQ(read.value().events, 1000u);
  EXPECT_TRUE(read.value().peak);
  EXPECT_EQ(read.value().marks, std::vector<std::string>{"warm"});
}

TEST(SnapshotOptions, WhatIsNotAReasonIsRefusedWithThoseThatAre) {
  for (const char* text : {"", "often", "every", "every:", "every:0s", "growth:x", "peak:1", "events:-1", "peak,,"}) {
    const Result<SnapshotTriggers> read = parse_snapshot_triggers(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().sentence.find("every:TIME"), std::string::npos) << read.error().sentence;
  }
}

} // namespace
} // namespace heaptape
