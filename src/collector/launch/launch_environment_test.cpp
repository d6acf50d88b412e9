#include "collector/launch/launch_environment.h"
#include "collector/options/option_values.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace heaptape {
namespace {

using Strings = std::vector<std::string>;

Result<RecordOptions> options_from(std::vector<const char*> environment) {
  environment.push_back(nullptr);
  return options_from_environment(environment.data());
}

const RecorderLink kLink{
    .library = "/lib/libheaptape.so", .heaptape = "/bin/heaptape", .directory = "/work/100%", .memory = {}};

TEST(DepthText, OnlySensibleNumbersAreTaken) {
  EXPECT_EQ(parse_depth("256").value(), 256u);
  for (const char* text : {"", "0", "-3", "12x", "65537"}) EXPECT_FALSE(parse_depth(text)) << text;
}

TEST(OptionsFromEnvironment, NothingSetMeansTheDefaults) {
  const RecordOptions options = options_from({"HOME=/root", "HEAPTAPE=1"}).value();
  EXPECT_EQ(options.collector.tape, CollectorOptions{}.tape);
  EXPECT_FALSE(options.collector.tape_named);
  EXPECT_FALSE(options.follow);
  EXPECT_TRUE(options.collector.free_stacks);
  EXPECT_EQ(options.collector.cpu_hz, 0u);
  EXPECT_TRUE(options.collector.heap);
}

TEST(OptionsFromEnvironment, EveryVariableIsItsOption) {
  const RecordOptions options = options_from({"HEAPTAPE_OUTPUT=x.tape", "HEAPTAPE_FORCE=1", "HEAPTAPE_QUIET=1",
                                              "HEAPTAPE_FREE_STACKS=0", "HEAPTAPE_MAX_DEPTH=7", "HEAPTAPE_ON_FULL=drop",
                                              "HEAPTAPE_MAX_TAPE=2K", "HEAPTAPE_CPU=250", "HEAPTAPE_HEAP=0"})
                                    .value();
  EXPECT_EQ(options.collector.tape, "x.tape");
  EXPECT_TRUE(options.collector.tape_named);
  EXPECT_TRUE(options.collector.force);
  EXPECT_TRUE(options.collector.quiet);
  EXPECT_FALSE(options.collector.free_stacks);
  EXPECT_EQ(options.collector.max_depth, 7u);
  EXPECT_EQ(options.collector.on_full, wire::OnFull::Drop);
  EXPECT_EQ(options.collector.max_tape_bytes, 2000u);
  EXPECT_EQ(options.collector.cpu_hz, 250u);
  EXPECT_FALSE(options.collector.heap);
}

TEST(OptionsFromEnvironment, FollowedProcessesNeitherInsistOnTheirTapesNameNorOverwrite) {
  const RecordOptions options =
      options_from({"HEAPTAPE_OUTPUT=x.tape", "HEAPTAPE_FORCE=1", "HEAPTAPE_FOLLOW=1"}).value();
  EXPECT_TRUE(options.follow);
  EXPECT_EQ(options.collector.tape, "x.tape");
  EXPECT_FALSE(options.collector.tape_named);
  EXPECT_FALSE(options.collector.force);
}

TEST(OptionsFromEnvironment, WrongValueIsNamedWithItsVariable) {
  EXPECT_EQ(options_from({"HEAPTAPE_ON_FULL=stop"}).error().sentence,
            "HEAPTAPE_ON_FULL: must be wait or drop, not 'stop'");
}

TEST(RecorderVariables, UsersPreloadStaysAsItIsBehindOurs) {
  EXPECT_EQ(recorder_variables({}, kLink, "a.so b.so").front(), "LD_PRELOAD=/lib/libheaptape.so:a.so b.so");
  EXPECT_EQ(recorder_variables({}, kLink, "a.so:/lib/libheaptape.so").front(), "LD_PRELOAD=a.so:/lib/libheaptape.so");
}

TEST(RecorderVariables, DefaultsAreNotMentioned) {
  EXPECT_EQ(recorder_variables({}, kLink, nullptr),
            (Strings{"LD_PRELOAD=/lib/libheaptape.so", "HEAPTAPE_COLLECTOR=/bin/heaptape",
                     "HEAPTAPE_DIRECTORY=/work/100%", "HEAPTAPE_PAD="}));
}

// Or the recorder could not take them out without leaving one behind: Go programs died at start.
TEST(RecorderVariables, TheRecorderTakesOutAnEvenNumberWhateverTheOptions) {
  for (const char* preload : {"", "/lib/libheaptape.so", "a.so", "a.so:/lib/libheaptape.so"}) {
    for (const bool quiet : {false, true}) {
      RecordOptions options;
      options.collector.quiet = quiet;
      const Strings variables = recorder_variables(options, kLink, preload);
      const bool preload_stays = variables.front() != "LD_PRELOAD=/lib/libheaptape.so";
      EXPECT_EQ((variables.size() - (preload_stays ? 1 : 0)) % 2, 0u) << preload << " " << quiet;
    }
  }
}

TEST(RecorderVariables, OptionsSurviveTheWayThroughTheEnvironment) {
  RecordOptions options;
  CollectorOptions& collector = options.collector;
  collector.tape = "a/%p.tape";
  collector.tape_named = collector.force = collector.quiet = true;
  collector.free_stacks = false;
  collector.max_tape_bytes = 12'345;
  collector.max_depth = 9;
  collector.cpu_hz = 99;
  collector.heap = false;
  collector.on_full = wire::OnFull::Drop;
  collector.snapshot_bounds = {.most_bytes = 5000, .with_not_dumped = true};
  RecorderLink link = kLink;
  link.memory = RecorderLink::Memory{101, 77};
  const Strings variables = recorder_variables(options, link, nullptr);
  EXPECT_NE(std::find(variables.begin(), variables.end(), "HEAPTAPE_SHM_FD=101"), variables.end());
  EXPECT_NE(std::find(variables.begin(), variables.end(), "HEAPTAPE_SHM_KEY=77"), variables.end());
  std::vector<const char*> environment;
  for (const std::string& variable : variables) environment.push_back(variable.c_str());
  const RecordOptions back = options_from(environment).value();
  EXPECT_EQ(back.collector.tape, "/work/100%%/a/%p.tape");
  EXPECT_TRUE(back.collector.force);
  EXPECT_TRUE(back.collector.quiet);
  EXPECT_FALSE(back.collector.free_stacks);
  EXPECT_EQ(back.collector.max_depth, 9u);
  EXPECT_EQ(back.collector.on_full, wire::OnFull::Drop);
  EXPECT_EQ(back.collector.max_tape_bytes, 12'345u);
  EXPECT_EQ(back.collector.cpu_hz, 99u);
  EXPECT_FALSE(back.collector.heap);
  EXPECT_EQ(back.collector.snapshot_bounds.most_bytes, 5000u);
  EXPECT_TRUE(back.collector.snapshot_bounds.with_not_dumped);
}

TEST(OptionsFromEnvironment, ARecordingOfNothingIsRefused) {
  const auto refused = options_from({"HEAPTAPE_HEAP=0"});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().sentence.find("HEAPTAPE_CPU"), std::string::npos) << refused.error().sentence;
}

TEST(ParseCpuHz, IsAWholeNumberThatTheKernelCanDo) {
  EXPECT_EQ(parse_cpu_hz("1").value(), 1u);
  EXPECT_EQ(parse_cpu_hz("5000").value(), 5000u);
  for (const char* text : {"0", "5001", "-1", "10x", "", "often"}) EXPECT_FALSE(parse_cpu_hz(text).ok()) << text;
}

TEST(RecorderVariables, UnnamedTapesGoWhereTheRecordingWasStarted) {
  RecordOptions options;
  options.follow = true;
  const Strings variables = recorder_variables(options, kLink, nullptr);
  std::vector<const char*> environment;
  for (const std::string& variable : variables) environment.push_back(variable.c_str());
  EXPECT_EQ(options_from(environment).value().collector.tape, "/work/100%%/" + CollectorOptions{}.tape);
}

TEST(WithVariables, ReplacesInPlaceAppendsTheRestAndDropsLeftovers) {
  const char* const environment[] = {"A=1", "LD_PRELOAD=old", "HEAPTAPE_QUIET=1", "B=2", "LD_PRELOAD=again", nullptr};
  EXPECT_EQ(with_variables(environment, {"LD_PRELOAD=new", "HEAPTAPE_SHM_FD=100"}),
            (Strings{"A=1", "LD_PRELOAD=new", "B=2", "HEAPTAPE_SHM_FD=100"}));
}

} // namespace
} // namespace heaptape
