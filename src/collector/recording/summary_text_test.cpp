#include "collector/recording/summary_text.h"

#include <gtest/gtest.h>

#include <csignal>

namespace heaptape {
namespace {

CollectorResult good_result() {
  CollectorResult result;
  result.attached = true;
  result.tape = "heaptape.sqlite3.4711.tape";
  result.tape_bytes = 1'802'000;
  result.summary.events = 1'234'567;
  result.summary.duration_us = 2'310'000;
  result.summary.peak_bytes = 12'300'000;
  result.summary.live_bytes = 1'200'000;
  result.summary.live_blocks = 345;
  return result;
}

TEST(SummaryText, SaysWhatWasRecordedInOneLine) {
  EXPECT_EQ(summary_text(good_result()),
            "1,234,567 events in 2.31 s, peak 12,300,000 bytes (12.3 MB), still live 1,200,000 bytes (1.20 MB) in "
            "345 blocks, 0 events lost -> heaptape.sqlite3.4711.tape (1.80 MB, 1.46 bytes/event)");
}

TEST(SummaryText, CpuSamplesAreBesideTheEventsOrAlone) {
  CollectorResult result = good_result();
  result.cpu_samples = 1'234;
  EXPECT_NE(summary_text(result).find("in 345 blocks, 1,234 CPU samples, 0 events lost"), std::string::npos);
  result.summary = {};
  result.summary.duration_us = 2'310'000;
  result.tape_bytes = 900;
  EXPECT_EQ(summary_text(result),
            "1,234 CPU samples in 2.31 s, 0 CPU samples lost -> heaptape.sqlite3.4711.tape (900 B)");
}

TEST(SummaryText, MemoryErrorsAreBesideTheEvents) {
  CollectorResult result = good_result();
  result.memory_errors = 1;
  EXPECT_NE(summary_text(result).find("in 345 blocks, 1 memory error, 0 events lost -> "), std::string::npos);
  result.memory_errors = 1'200;
  EXPECT_NE(summary_text(result).find(", 1,200 memory errors, 0 events lost"), std::string::npos);
}

TEST(SummaryText, WhenTheProgramWroteOverTheCountsOfLossesNoneIsShown) {
  CollectorResult result = good_result();
  result.summary.losses = {{"memory written over", 1}, {"not written", 4}};
  EXPECT_NE(summary_text(result).find("in 345 blocks, losses unknown -> "), std::string::npos);
}

TEST(SummaryText, NamesEveryLoss) {
  CollectorResult result = good_result();
  result.summary.losses = {{"ring full", 1500}, {"no thread slot", 2}};
  const std::string text = summary_text(result);
  EXPECT_NE(text.find("1,502 events lost"), std::string::npos) << text;
  EXPECT_NE(text.find("ring full"), std::string::npos) << text;
  EXPECT_NE(text.find("no thread slot"), std::string::npos) << text;
}

TEST(SummaryText, WhatTheProgramDidNotWantRecordedIsNotLost) {
  CollectorResult result = good_result();
  result.summary.losses = {{"paused", 4000}};
  const std::string text = summary_text(result);
  EXPECT_NE(text.find(", 0 events lost, 4,000 blocks left out while paused -> "), std::string::npos) << text;
}

TEST(SummaryText, ASignalThatEndedTheProgramIsNamed) {
  CollectorResult result = good_result();
  result.summary.ending = Ending::Killed;
  result.summary.ending_detail = SIGABRT;
  EXPECT_TRUE(summary_text(result).ends_with("; killed by SIGABRT")) << summary_text(result);
  result.summary.ending_detail = 40;
  EXPECT_TRUE(summary_text(result).ends_with("; killed by signal 40")) << summary_text(result);
}

TEST(SummaryText, AProgramThatCouldNotBeFollowedIsNoLostEvent) {
  CollectorResult result = good_result();
  result.summary.losses = {{"not followed", 2}};
  EXPECT_NE(summary_text(result).find("0 events lost, 2 programs not followed ->"), std::string::npos)
      << summary_text(result);
}

TEST(SummaryText, AnEmptyRecordingDividesByNothing) {
  CollectorResult result = good_result();
  result.summary = {};
  result.tape_bytes = 900;
  EXPECT_EQ(summary_text(result), "0 events in 0.00 s, peak 0 bytes, still live 0 bytes in 0 blocks, 0 events lost -> "
                                  "heaptape.sqlite3.4711.tape (900 B)");
}

TEST(SummaryText, AHandfulOfEventsSaysNothingAboutTheSizeOfOne) {
  CollectorResult result = good_result();
  result.summary.events = 99;
  EXPECT_TRUE(summary_text(result).ends_with("(1.80 MB)")) << summary_text(result);
  result.summary.events = 1000;
  EXPECT_TRUE(summary_text(result).ends_with("(1.80 MB, 1,802 bytes/event)")) << summary_text(result);
}

TEST(SummaryText, LostSamplesOfTheCpuAreNoLostEvents) {
  CollectorResult result = good_result();
  result.cpu_samples = 238;
  result.summary.losses = {{"CPU samples", 13}};
  EXPECT_NE(summary_text(result).find("238 CPU samples, 0 events lost, 13 CPU samples lost ->"), std::string::npos)
      << summary_text(result);
}

// A program whose name is an escape sequence coloured the terminal of who recorded it.
TEST(PrintLine, NamesAreShownAndNotObeyed) {
  testing::internal::CaptureStderr();
  print_line("-> heaptape.ev\033[31mil\nname.tape");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "heaptape: -> heaptape.ev\\x1b[31mil\\x0aname.tape\n");
}

} // namespace
} // namespace heaptape
