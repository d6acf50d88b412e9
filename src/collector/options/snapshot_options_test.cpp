#include "collector/options/snapshot_options.h"

#include <signal.h>

#include <gtest/gtest.h>

namespace heaptape {
namespace {

TEST(SnapshotOptions, AllReasonsAreRead) {
  const Result<SnapshotTriggers> read =
      parse_snapshot_triggers("every:10s,growth:200M,events:1000,peak,mark:warm,exit,crash,signal:USR2,signal:SIGUSR1");
  ASSERT_TRUE(read) << read.error().sentence;
  EXPECT_EQ(read.value().every_us, 10'000'000u);
  EXPECT_EQ(read.value().growth_bytes, 200'000'000u);
  EXPECT_EQ(read.value().events, 1000u);
  EXPECT_TRUE(read.value().peak);
  EXPECT_EQ(read.value().marks, std::vector<std::string>{"warm"});
  EXPECT_TRUE(read.value().exit);
  EXPECT_TRUE(read.value().crash);
  EXPECT_EQ(read.value().signals, std::uint64_t{1} << (SIGUSR1 - 1) | std::uint64_t{1} << (SIGUSR2 - 1));
}

TEST(SnapshotOptions, WhatIsNotAReasonIsRefusedWithThoseThatAre) {
  for (const char* text : {"", "often", "every", "every:", "every:0s", "growth:x", "peak:1", "events:-1", "peak,,",
                           "exit:1", "crash:SIGSEGV", "signal", "signal:"}) {
    const Result<SnapshotTriggers> read = parse_snapshot_triggers(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().sentence.find("every:TIME"), std::string::npos) << read.error().sentence;
  }
}

TEST(SnapshotOptions, SignalsThatCannotAskAreRefusedWithOnesThatCan) {
  for (const char* text :
       {"signal:KILL", "signal:SIGSTOP", "signal:SEGV", "signal:0", "signal:65", "signal:32", "signal:often"}) {
    const Result<SnapshotTriggers> read = parse_snapshot_triggers(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().sentence.find("USR2"), std::string::npos) << read.error().sentence;
  }
}

TEST(SnapshotOptions, LeaksAddTheEndToWhateverElseIsWanted) {
  SnapshotTriggers triggers = parse_snapshot_triggers("peak").value();
  triggers.add_exit();
  EXPECT_EQ(triggers, parse_snapshot_triggers(triggers.text).value());
  EXPECT_TRUE(triggers.exit && triggers.peak);
  triggers.add_exit();
  EXPECT_EQ(triggers.text, "peak,exit");
}

} // namespace
} // namespace heaptape
