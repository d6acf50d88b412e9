#include "live/top_screen.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

Event malloc_at(std::uint64_t address, std::uint64_t size, std::uint32_t stack) {
  Event event;
  event.kind = EventKind::Malloc;
  event.address = address;
  event.size = size;
  event.stack = StackId(stack);
  return event;
}
Event free_at(std::uint64_t address) {
  Event event;
  event.kind = EventKind::Free;
  event.address = address;
  return event;
}

class TopScreenTest : public testing::Test {
protected:
  TopScreenTest() {
    Module module;
    module.path = "/bin/app";
    module.start = module.load_bias = 0x100000;
    module.end = 0x200000;
    view.on_modules(std::vector{module});
    std::vector<StackNode> nodes;
    for (std::uint32_t i = 1; i <= 60; ++i) nodes.push_back({StackId(0), 0x100000 + 0x10 * i});
    view.on_stacks(StackId(1), nodes);
  }
  void apply(std::vector<Event> events) { view.on_events(events); }
  TopMoment now(std::uint64_t seconds) {
    return {.program = "app",
            .pid = 7,
            .time_us = seconds * 1'000'000,
            .allocated = view.heap().allocated(),
            .freed = view.heap().freed(),
            .peak_bytes = view.heap().peak_bytes()};
  }
  void refresh(std::uint64_t seconds) { screen.refresh(now(seconds), seconds * 1'000'000); }
  std::vector<std::string> lines(unsigned width = 80, unsigned height = 24) {
    return screen.draw(width, height, TextStyle{.width = width});
  }
  std::string text() {
    std::string all;
    for (const std::string& line : lines()) all += line + "\n";
    return all;
  }
  // The line that is chosen.
  std::string chosen() {
    for (const std::string& line : lines()) {
      if (line.starts_with("> ")) return line;
    }
    return "";
  }

  LiveView view{false};
  TopScreen screen{view, TopOrder::Live};
};

TEST_F(TopScreenTest, FitsIntoEveryWindow) {
  std::vector<Event> events;
  for (std::uint32_t i = 1; i <= 60; ++i) events.push_back(malloc_at(0x1000 * i, 100 * i, i));
  apply(events);
  refresh(1);
  for (const unsigned width : {80u, 40u, 200u, 1u}) {
    for (const unsigned height : {24u, 5u, 60u, 1u}) {
      const std::vector<std::string> all = lines(width, height);
      EXPECT_EQ(all.size(), height);
      for (const std::string& line : all) EXPECT_LE(columns_of(line), width) << line;
    }
  }
}

TEST_F(TopScreenTest, OrdersByWhatTheKeysSay) {
  apply({malloc_at(0x1000, 1000, 1), malloc_at(0x2000, 500, 2)});
  refresh(1);
  EXPECT_NE(chosen().find("app+0x10"), std::string::npos) << text();
  apply({malloc_at(0x3000, 400, 2), malloc_at(0x4000, 9000, 3), free_at(0x4000)});
  refresh(2);
  screen.key('g');
  EXPECT_NE(chosen().find("app+0x20"), std::string::npos) << text();
  EXPECT_NE(chosen().find("+400 B"), std::string::npos) << text();
  screen.key('a');
  EXPECT_NE(chosen().find("app+0x30"), std::string::npos) << text();
  screen.key('l');
  EXPECT_NE(chosen().find("app+0x10"), std::string::npos) << text();
}

TEST_F(TopScreenTest, AMarkBeginsTheGrowthAnew) {
  apply({malloc_at(0x1000, 1000, 1)});
  refresh(1);
  apply({malloc_at(0x2000, 200, 1)});
  refresh(2);
  EXPECT_NE(text().find("growth +200 B"), std::string::npos) << text();
  EXPECT_EQ(screen.key('m'), TopAction::Mark);
  refresh(3);
  EXPECT_NE(text().find("growth 0 "), std::string::npos) << text();
}

// It stood at "+3.38 MB" for good when the program had stopped allocating before the view was opened.
TEST_F(TopScreenTest, GrowthReturnsToZeroWhenTheProgramIdles) {
  for (std::uint64_t second = 1; second <= 15; ++second) {
    apply({malloc_at(0x1000 * second, 1000, 1)});
    refresh(second);
  }
  EXPECT_NE(text().find("growth +14.0 kB in 14 s"), std::string::npos) << text();
  const TopMoment last = now(15); // the tape does not grow any more
  for (std::uint64_t second = 16; second <= 74; ++second) screen.refresh(last, second * 1'000'000);
  EXPECT_EQ(text().find("growth 0 "), std::string::npos) << text();
  for (std::uint64_t second = 75; second <= 90; ++second) screen.refresh(last, second * 1'000'000);
  EXPECT_NE(text().find("growth 0 in 6"), std::string::npos) << text();
  EXPECT_NE(chosen().find("15.0 kB        0 "), std::string::npos) << text();
}

TEST_F(TopScreenTest, WhatHappenedBeforeTheViewWasOpenedIsNotGrowth) {
  apply({malloc_at(0x1000, 1000, 1)});
  refresh(1); // in the middle of what the tape holds already
  screen.forget_growth();
  EXPECT_NE(text().find("growth -"), std::string::npos) << text();
  apply({malloc_at(0x2000, 5000, 1)});
  refresh(2);
  EXPECT_NE(text().find("growth 0 in 0 s"), std::string::npos) << text();
}

TEST_F(TopScreenTest, TheMarkIsLeftForTheWindowAgain) {
  apply({malloc_at(0x1000, 1000, 1)});
  refresh(1);
  apply({malloc_at(0x2000, 200, 1)});
  refresh(2);
  screen.key('m');
  refresh(3);
  EXPECT_NE(text().find("growth 0 since mark, 00:00:01"), std::string::npos) << text();
  EXPECT_EQ(screen.key('w'), TopAction::Refresh);
  refresh(4);
  EXPECT_NE(text().find("growth +200 B in 3 s"), std::string::npos) << text();
}

TEST_F(TopScreenTest, RatesAreOverTheTimeBetweenTwoRefreshes) {
  apply({malloc_at(0x1000, 1000, 1)});
  refresh(1);
  apply({malloc_at(0x2000, 8000, 1), free_at(0x1000)});
  refresh(3);
  EXPECT_NE(text().find("alloc 4.00 kB/s  free 500 B/s"), std::string::npos) << text();
  refresh(3); // the tape has not grown since
  EXPECT_NE(text().find("alloc 4.00 kB/s  free 500 B/s"), std::string::npos) << text();
}

TEST_F(TopScreenTest, EnterShowsTheWholeStackAndGoesBack) {
  apply({malloc_at(0x1000, 1000, 1)});
  refresh(1);
  screen.key(TopKey::Enter);
  EXPECT_NE(text().find("#0  app+0x10"), std::string::npos) << text();
  screen.key('q');
  EXPECT_NE(text().find("where (by live)"), std::string::npos);
  EXPECT_EQ(screen.key('q'), TopAction::Quit);
}

TEST_F(TopScreenTest, TheChosenStackStaysChosenWhenTheOrderChanges) {
  apply({malloc_at(0x1000, 1000, 1), malloc_at(0x2000, 500, 2), malloc_at(0x3000, 200, 3)});
  refresh(1);
  screen.key(TopKey::Down);
  EXPECT_NE(chosen().find("app+0x20"), std::string::npos);
  apply({malloc_at(0x4000, 5000, 3)});
  refresh(2);
  EXPECT_NE(chosen().find("app+0x20"), std::string::npos) << text();
}

TEST_F(TopScreenTest, PausedNothingMoves) {
  apply({malloc_at(0x1000, 1000, 1)});
  refresh(1);
  screen.key('p');
  const std::string before = text();
  EXPECT_NE(before.find("PAUSED"), std::string::npos);
  apply({malloc_at(0x2000, 1000, 2)});
  refresh(2);
  EXPECT_EQ(text(), before);
  EXPECT_EQ(screen.key('p'), TopAction::Refresh);
}

} // namespace
} // namespace heaptape
