#include "live/live_watcher.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace heaptape {
namespace {

class LiveWatcherTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "watcher.XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    options.log_name = folder + "/%n.log";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::unique_ptr<EventWatcher> start() {
    WatchedProgram program{
        .pid = 7, .name = "app", .path = "", .command = "", .tell = [this](const std::string& text) { told += text; }};
    return watch_live(options, false, "test", program).value();
  }
  // The next block, of this size, never freed.
  void make(EventWatcher& watcher, std::uint64_t size) {
    Event event;
    event.kind = EventKind::Malloc;
    event.number = ++number;
    event.time_us = number * 10;
    event.address = number * 0x1000;
    event.size = size;
    watcher.on_events(std::span(&event, 1));
  }
  std::string log() const {
    std::ostringstream text;
    text << std::ifstream(folder + "/app.log").rdbuf();
    return text.str();
  }
  static std::size_t count(const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
    return found;
  }

  LiveOptions options;
  std::string folder, told;
  std::uint64_t number = 0;
};

TEST_F(LiveWatcherTest, PassingTheLimitIsToldOnceAndEndsTheProgram) {
  options.max_live_bytes = 100;
  const auto watcher = start();
  make(*watcher, 60);
  EXPECT_FALSE(watcher->on_round(1).stop_program);
  make(*watcher, 60);
  make(*watcher, 60);
  const WatcherWish wish = watcher->on_round(2);
  EXPECT_TRUE(wish.stop_program);
  ASSERT_EQ(wish.marks.size(), 1u);
  EXPECT_EQ(wish.marks[0].event, 2u) << "the event that did it";
  make(*watcher, 60);
  EXPECT_FALSE(watcher->on_round(3).stop_program);
  watcher->on_end({});
  EXPECT_EQ(count(told, "has passed 100 B"), 1u) << told;
  EXPECT_NE(told.find("in use 120 B in 2 blocks"), std::string::npos) << told;
}

TEST_F(LiveWatcherTest, ALimitThatIsOnlyReportedLetsTheProgramGoOn) {
  options.max_live_bytes = 100;
  options.max_live_report = true;
  const auto watcher = start();
  make(*watcher, 101);
  EXPECT_FALSE(watcher->on_round(1).stop_program);
  watcher->on_end({});
  EXPECT_NE(told.find("the program runs on"), std::string::npos) << told;
}

TEST_F(LiveWatcherTest, WhatIsDueIsAskedForInTimeThoughTheProgramRests) {
  options.log = true;
  options.log_every_us = 3'000'000;
  options.top_every_us = 1'000'000;
  const auto watcher = start();
  EXPECT_EQ(watcher->on_round(10).next_us, 1'000'000u);
  EXPECT_EQ(watcher->on_round(1'000'000).next_us, 2'000'000u);
  EXPECT_EQ(watcher->on_round(2'600'000).next_us, 3'000'000u);
  watcher->on_end({});
}

TEST_F(LiveWatcherTest, SnapshotsComeForChurnTimeMarkSignalAndEnd) {
  options.log = true;
  options.log_churn = 100;
  options.log_every_us = 1'000'000;
  options.log_signal = SIGUSR2;
  const auto watcher = start();
  make(*watcher, 150);
  watcher->on_round(10);
  watcher->on_round(1'000'000);
  watcher->on_mark({.name = "here", .kind = MarkKind::Snapshot});
  watcher->on_mark({.name = "not here", .kind = MarkKind::Mark});
  ::raise(SIGUSR2);
  watcher->on_round(1'000'010);
  watcher->on_end({});
  for (const char* why : {"why=churn churn=150/100 ", "why=time ", "why=mark 'here' ", "why=signal ", "why=exit "}) {
    EXPECT_EQ(count(log(), why), 1u) << why << log();
  }
  EXPECT_EQ(count(log(), "\n["), 5u) << log();
}

TEST_F(LiveWatcherTest, AProgramThatNeverCameLeavesNoLog) {
  options.log = true;
  const auto watcher = start();
  EXPECT_TRUE(std::filesystem::exists(watcher->file()));
  watcher->on_nothing();
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

} // namespace
} // namespace heaptape
