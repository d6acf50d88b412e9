#include "collector/options/live_options.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <map>

namespace heaptape {
namespace {

Lookup from(std::map<std::string, std::string, std::less<>> variables) {
  return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found != variables.end() ? std::optional(found->second) : std::nullopt;
  };
}

TEST(LiveOptions, WhatIsChosenReachesTheChildrenThroughTheEnvironment) {
  LiveOptions chosen;
  chosen.log = true;
  chosen.log_name = "/var/log/%n.%p.log";
  chosen.log_churn = 5'000'000;
  chosen.log_every_us = 1'500'000;
  chosen.log_signal = SIGUSR2;
  chosen.log_all = true;
  chosen.log_max_bytes = 10'000'000;
  chosen.log_keep = 2;
  chosen.max_live_bytes = 77;
  chosen.max_live_report = true;
  chosen.top_every_us = 250'000;
  chosen.top_rows = 3;
  chosen.top_first = true;
  chosen.top_file = "/tmp/top";
  std::map<std::string, std::string, std::less<>> variables;
  for (const std::string& variable : live_variables(chosen, "/work")) {
    variables[variable.substr(0, variable.find('='))] = variable.substr(variable.find('=') + 1);
  }
  const Result<LiveOptions> read = live_options_from(from(variables), "/elsewhere");
  ASSERT_TRUE(read.ok());
  const LiveOptions& got = read.value();
  EXPECT_TRUE(got.log && got.log_all && got.max_live_report && got.top_first);
  EXPECT_EQ(got.log_name, chosen.log_name);
  EXPECT_EQ(got.log_churn, chosen.log_churn);
  EXPECT_EQ(got.log_every_us, chosen.log_every_us);
  EXPECT_EQ(got.log_signal, chosen.log_signal);
  EXPECT_EQ(got.log_max_bytes, chosen.log_max_bytes);
  EXPECT_EQ(got.log_keep, chosen.log_keep);
  EXPECT_EQ(got.max_live_bytes, chosen.max_live_bytes);
  EXPECT_EQ(got.top_every_us, chosen.top_every_us);
  EXPECT_EQ(got.top_rows, chosen.top_rows);
  EXPECT_EQ(got.top_file, chosen.top_file);
}

TEST(LiveOptions, DefaultsNeedNoVariables) {
  EXPECT_TRUE(live_variables({}, "/work").empty());
  const Result<LiveOptions> read = live_options_from(from({}), "");
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read.value().wanted());
}

TEST(LiveOptions, ARelativeLogStaysWhereTheRecordingBegan) {
  LiveOptions options;
  options.log = true;
  EXPECT_EQ(live_variables(options, "/start").at(0), "HEAPTAPE_LOG=/start/heaptape.%n.%p.log");
  EXPECT_EQ(live_options_from(from({{"HEAPTAPE_LOG", "1"}}), "/start").value().log_name, "/start/heaptape.%n.%p.log");
}

TEST(LiveOptions, MistakesNameTheVariable) {
  for (const char* name : {"HEAPTAPE_LOG_CHURN", "HEAPTAPE_LOG_EVERY", "HEAPTAPE_LOG_SIGNAL", "HEAPTAPE_TOP_ROWS"}) {
    const Result<LiveOptions> read = live_options_from(from({{name, "bogus"}}), "");
    ASSERT_FALSE(read.ok()) << name;
    EXPECT_NE(read.error().sentence.find(name), std::string::npos);
  }
}

TEST(LiveOptions, TimesAndSignalsAreReadAsPeopleWriteThem) {
  EXPECT_EQ(parse_interval_us("10").value(), 10'000'000u);
  EXPECT_EQ(parse_interval_us("0.5s").value(), 500'000u);
  EXPECT_EQ(parse_interval_us("2min").value(), 120'000'000u);
  EXPECT_FALSE(parse_interval_us("0").ok());
  EXPECT_FALSE(parse_interval_us("3 parsecs").ok());
  EXPECT_EQ(parse_log_signal("USR1").value(), SIGUSR1);
  EXPECT_EQ(parse_log_signal("SIGUSR2").value(), SIGUSR2);
  EXPECT_FALSE(parse_log_signal("KILL").ok());
}

} // namespace
} // namespace heaptape
