#include "live/churn_log.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <regex>
#include <sstream>

namespace heaptape {
namespace {

Module module_at(const std::string& path, std::uint64_t start, std::vector<std::uint8_t> build_id) {
  Module module;
  module.path = path;
  module.load_bias = module.start = start;
  module.end = start + 0x10000;
  module.build_id = std::move(build_id);
  return module;
}

// main <- f, main <- g in a module that is loaded somewhere.
std::vector<StackNode> three_stacks(std::uint64_t start) {
  return {{StackId(0), start + 0x100}, {StackId(1), start + 0x200}, {StackId(1), start + 0x300}};
}

HeapSnapshot moment(LiveHeap& heap) {
  HeapSnapshot snapshot;
  snapshot.allocated = heap.allocated();
  snapshot.freed = heap.freed();
  snapshot.event = heap.events();
  snapshot.churn_bytes = heap.churn_bytes();
  snapshot.changes = heap.take_changes();
  return snapshot;
}

void make(LiveHeap& heap, std::uint64_t address, std::uint64_t size, std::uint32_t stack) {
  Event event;
  event.kind = EventKind::Malloc;
  event.address = address;
  event.size = size;
  event.stack = StackId(stack);
  heap.apply(event);
}
void release(LiveHeap& heap, std::uint64_t address) {
  Event event;
  event.kind = EventKind::Free;
  event.address = address;
  heap.apply(event);
}

struct Line {
  Cost live, new_allocated, allocated, new_freed, freed;
};
// The lines of a snapshot by source.
std::map<std::string, Line> lines_of(const std::string& text) {
  static const std::regex kLine(
      R"(\{(total|rest|[0-9a-f]{16})\}\s+live:(\d+)/(\d+),\s+alloc:\+(\d+)/\+(\d+)=(\d+)/(\d+),\s+)"
      R"(free:\+(\d+)/\+(\d+)=(\d+)/(\d+).*)");
  std::map<std::string, Line> lines;
  std::istringstream input(text);
  for (std::string line; std::getline(input, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, kLine)) continue;
    const auto cost = [&](std::size_t at) { return Cost{std::stoull(match[at]), std::stoull(match[at + 1])}; };
    EXPECT_TRUE(lines.emplace(match[1], Line{cost(2), cost(4), cost(6), cost(8), cost(10)}).second);
  }
  return lines;
}

TEST(ChurnLog, TheFiguresOfEveryLineAddUpAndSoDoTheLines) {
  LiveNames names(false);
  const std::vector<Module> modules{module_at("/bin/app", 0x100000, {1, 2})};
  names.add_modules(modules);
  std::vector<StackNode> nodes;
  for (std::uint32_t i = 0; i < 30; ++i) nodes.push_back({StackId(i / 2), 0x100000 + 16 * i + 16});
  names.add_stacks(StackId(1), nodes);
  ChurnLog log({.churn = 1000}, names);
  LiveHeap heap;
  std::mt19937_64 random(3);
  std::map<std::string, Line> before;
  for (int round = 0; round < 60; ++round) {
    for (std::uint64_t i = random() % 200; i > 0; --i) {
      const std::uint64_t address = 16 * (1 + random() % 500);
      if (random() % 2 == 0)
        make(heap, address, random() % 1000, static_cast<std::uint32_t>(random() % 31));
      else
        release(heap, address);
    }
    const bool all = round % 7 == 6;
    const std::string text = log.snapshot(moment(heap), "test", all);
    std::map<std::string, Line> lines = lines_of(text);
    ASSERT_TRUE(lines.contains("total"));
    const Line total = lines["total"];
    lines.erase("total");
    EXPECT_EQ(total.live, heap.live());
    EXPECT_EQ(total.live, total.allocated - total.freed);
    Cost live, new_allocated, new_freed, allocated;
    for (const auto& [source, line] : lines) {
      EXPECT_EQ(line.live, line.allocated - line.freed) << text;
      const Line& earlier = before[source];
      EXPECT_EQ(line.allocated, earlier.allocated + line.new_allocated) << "totals go on from snapshot to snapshot";
      EXPECT_EQ(line.freed, earlier.freed + line.new_freed);
      live += line.live;
      allocated += line.allocated;
      new_allocated += line.new_allocated;
      new_freed += line.new_freed;
      before[source] = line;
    }
    EXPECT_EQ(new_allocated, total.new_allocated);
    EXPECT_EQ(new_freed, total.new_freed);
    if (all) {
      EXPECT_EQ(live, total.live);
      EXPECT_EQ(allocated, total.allocated);
    }
  }
}

TEST(ChurnLog, OnlyWhatChangedIsShownUnlessAllIsWanted) {
  LiveNames names(false);
  names.add_modules(std::vector{module_at("/bin/app", 0x100000, {1})});
  names.add_stacks(StackId(1), three_stacks(0x100000));
  ChurnLog log({}, names);
  LiveHeap heap;
  make(heap, 0x10, 1, 2);
  make(heap, 0x20, 2, 3);
  EXPECT_EQ(lines_of(log.snapshot(moment(heap), "test", false)).size(), 3u);
  make(heap, 0x30, 2, 3);
  EXPECT_EQ(lines_of(log.snapshot(moment(heap), "test", false)).size(), 2u);
  EXPECT_EQ(lines_of(log.snapshot(moment(heap), "exit", true)).size(), 3u);
}

TEST(ChurnLog, AStackIsExplainedOnceInEveryFile) {
  LiveNames names(false);
  names.add_modules(std::vector{module_at("/bin/app", 0x100000, {0xab, 0xcd})});
  names.add_stacks(StackId(1), three_stacks(0x100000));
  ChurnLog log({}, names);
  log.begin_file();
  LiveHeap heap;
  make(heap, 0x10, 1, 2);
  const std::string first = log.snapshot(moment(heap), "test", false);
  EXPECT_NE(first.find("  {0} app+0x200\n  {1} app+0x100\n"), std::string::npos) << first;
  EXPECT_NE(first.find("  module /bin/app build-id abcd\n"), std::string::npos) << first;
  make(heap, 0x20, 1, 2);
  EXPECT_EQ(log.snapshot(moment(heap), "test", false).find("{0}"), std::string::npos);
  log.begin_file();
  make(heap, 0x30, 1, 2);
  EXPECT_NE(log.snapshot(moment(heap), "test", false).find("{0} app+0x200"), std::string::npos);
}

TEST(ChurnLog, ASourceHasTheSameHashWhereverItsModuleIsLoaded) {
  LiveNames here(false), there(false), other(false);
  here.add_modules(std::vector{module_at("/bin/app", 0x100000, {1, 2})});
  here.add_stacks(StackId(1), three_stacks(0x100000));
  there.add_modules(std::vector{module_at("/elsewhere/app", 0x7f0000000000, {1, 2})});
  there.add_stacks(StackId(1), three_stacks(0x7f0000000000));
  other.add_modules(std::vector{module_at("/bin/app", 0x100000, {9})});
  other.add_stacks(StackId(1), three_stacks(0x100000));
  EXPECT_EQ(here.source_hash(StackId(2)), there.source_hash(StackId(2)));
  EXPECT_NE(here.source_hash(StackId(2)), here.source_hash(StackId(3)));
  EXPECT_NE(here.source_hash(StackId(2)), other.source_hash(StackId(2)));
}

TEST(ChurnLog, AModuleLoadedTwiceIsOneSource) {
  LiveNames names(false);
  names.add_modules(std::vector{module_at("/lib/plugin", 0x100000, {1}), module_at("/lib/plugin", 0x200000, {1})});
  names.add_stacks(StackId(1), std::vector<StackNode>{{StackId(0), 0x100010}, {StackId(0), 0x200010}});
  ChurnLog log({}, names);
  LiveHeap heap;
  make(heap, 0x10, 5, 1);
  make(heap, 0x20, 6, 2);
  const std::map<std::string, Line> lines = lines_of(log.snapshot(moment(heap), "test", false));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines.begin()->second.live, (Cost{11, 2}));
}

// Many sources, each with a block.
class CrowdedLog : public testing::Test {
protected:
  void SetUp() override {
    names.add_modules(modules);
    std::vector<StackNode> nodes;
    for (std::uint32_t i = 0; i < 100; ++i) nodes.push_back({StackId(0), 0x100000 + 16 * i + 16});
    names.add_stacks(StackId(1), nodes);
  }
  void make_all(std::uint64_t round) {
    for (std::uint32_t i = 1; i <= 100; ++i) make(heap, 0x10000 * round + 64 * i, i, i);
  }
  // The sources' lines and {rest} sum up to {total}.
  static void expect_whole(const std::map<std::string, Line>& lines) {
    Cost live, fresh;
    for (const auto& [name, line] : lines) {
      if (name == "total") continue;
      live += line.live;
      fresh += line.new_allocated;
    }
    EXPECT_EQ(live, lines.at("total").live);
    EXPECT_EQ(fresh, lines.at("total").new_allocated);
  }

  LiveNames names{false};
  std::vector<Module> modules{module_at("/bin/app", 0x100000, {1, 2})};
  ChurnLog log{{.churn = 1000}, names};
  LiveHeap heap;
};

TEST_F(CrowdedLog, ASnapshotThatDoesNotFitBeginsANewFile) {
  std::size_t used = log.begin_file().size();
  make_all(1);
  used += log.snapshot(moment(heap), "test", false).size();
  make_all(2);
  const ChurnLog::Text text = log.snapshot(moment(heap), "test", false, {.here = 100, .whole = used * 2});
  EXPECT_TRUE(text.for_new_file);
  EXPECT_TRUE(text.text.starts_with("# heaptape "));
  EXPECT_NE(text.text.find("  module /bin/app"), std::string::npos); // explained anew
  const std::map<std::string, Line> lines = lines_of(text.text);
  EXPECT_EQ(lines.size(), 101u);
  EXPECT_FALSE(lines.contains("rest"));
  expect_whole(lines);
}

TEST_F(CrowdedLog, WhatNoFileCouldHoldIsSummedUpInALastLine) {
  log.begin_file();
  for (const std::uint64_t round : {1u, 2u}) {
    make_all(round);
    const ChurnLog::Text text = log.snapshot(moment(heap), "test", false, {.here = 3000, .whole = 3000});
    EXPECT_EQ(text.for_new_file, round == 2);
    EXPECT_LE(text.text.size(), 3000u);
    const std::map<std::string, Line> lines = lines_of(text.text);
    ASSERT_TRUE(lines.contains("rest"));
    EXPECT_GT(lines.size(), 10u);
    expect_whole(lines);
  }
  // What was not told of is told of where there is room for it, with the stacks.
  EXPECT_EQ(lines_of(log.snapshot(moment(heap), "test", true)).size(), 101u);
}

} // namespace
} // namespace heaptape
