// What a watcher of a recording gets to see.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "collector/recording/fake_program.h"
#include "collector/recording/recording.h"
#include "tape/reader.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kUs = 1000;

// Keeps all it is told, and asks for what it was given.
class NotingWatcher final : public EventWatcher {
public:
  void on_modules(std::span<const Module> added) override { modules.insert(modules.end(), added.begin(), added.end()); }
  void on_stacks(StackId first, std::span<const StackNode> added) override {
    EXPECT_EQ(first.value, stacks.size());
    stacks.insert(stacks.end(), added.begin(), added.end());
  }
  void on_events(std::span<const Event> added) override {
    for (const Event& event : added) EXPECT_LT(event.stack.value, stacks.size());
    events.insert(events.end(), added.begin(), added.end());
  }
  void on_mark(const Mark& mark) override {
    if (mark.name != "the watcher's") {
      EXPECT_EQ(events.empty() ? 0 : events.back().number, mark.event) << "a mark comes right after its event";
    }
    marks.push_back(mark.name);
  }
  WatcherWish on_round(std::uint64_t) override { return std::exchange(wish, {}); }
  void on_end(const Summary& summary) override { ended = summary; }
  void on_nothing() override {}

  std::vector<Module> modules;
  std::vector<StackNode> stacks = std::vector<StackNode>(1);
  std::vector<Event> events;
  std::vector<std::string> marks;
  std::optional<Summary> ended;
  WatcherWish wish;
};

RecordingFacts facts(const FakeProgram& program, EventWatcher& watcher) {
  RecordingFacts known;
  known.pid = ::getpid();
  known.tape_start_ns = program.header.clock_base_monotonic_ns;
  known.watcher = &watcher;
  return known;
}

void put_mark(FakeThread& thread, std::uint64_t time, const std::string& name) {
  std::uint64_t words[2] = {};
  std::memcpy(&words[0], name.data(), std::min<std::size_t>(6, name.size()));
  if (name.size() > 6) std::memcpy(&words[1], name.data() + 6, name.size() - 6);
  thread.put(EventKind::MarkText, time, words[0], words[1]);
  thread.put(EventKind::Mark, time, name.size(), static_cast<std::uint64_t>(MarkKind::Snapshot));
}

TEST(WatchedSink, AWatcherSeesEveryEventStackAndMarkInOrder) {
  FakeProgram program{8, 8192};
  program.module("", 0x5000, 0x9000);
  NotingWatcher watcher;
  const std::uint32_t main = program.node(0, 0x5100), f = program.node(main, 0x5200);
  Recording recording(program.memory, nullptr, facts(program, watcher));
  FakeThread thread(program, 0, static_cast<std::uint32_t>(::getpid()), 1 * kUs);
  put_mark(thread, 5 * kUs, "begin");
  for (std::uint64_t i = 1; i <= 3000; ++i) { // more than one batch
    thread.malloc((10 + i) * kUs, i * 0x1000, i, i % 2 == 0 ? f : main);
    if (i == 1234) put_mark(thread, (10 + i) * kUs + 1, "in between");
  }
  recording.step(1);
  recording.drain();
  const Summary summary = recording.finish(Ending::Exited, 0, "");
  ASSERT_EQ(watcher.events.size(), 3000u);
  for (std::uint64_t i = 1; i <= 3000; ++i) EXPECT_EQ(watcher.events[i - 1].number, i);
  EXPECT_EQ(watcher.marks, (std::vector<std::string>{"begin", "in between"}));
  EXPECT_EQ(watcher.stacks.size(), 3u);
  EXPECT_EQ(watcher.modules.size(), 1u);
  ASSERT_TRUE(watcher.ended.has_value());
  EXPECT_EQ(watcher.ended->events, 3000u);
  EXPECT_TRUE(summary.losses.empty()) << "without a tape nothing is missing on it";
}

TEST(WatchedSink, MarksOfAWatcherAreOnTheTapeInOrder) {
  const std::string path = testing::TempDir() + "watched." + std::to_string(::getpid()) + ".tape";
  Result<TapeWriter> writer = TapeWriter::create({.path = path, .overwrite = true});
  ASSERT_TRUE(writer.ok());
  FakeProgram program{8, 4096};
  NotingWatcher watcher;
  Recording recording(program.memory, writer.value(), facts(program, watcher));
  FakeThread thread(program, 0, static_cast<std::uint32_t>(::getpid()), 1 * kUs);
  thread.malloc(10 * kUs, 0x1000, 8);
  thread.malloc(20 * kUs, 0x2000, 8);
  put_mark(thread, 30 * kUs, "program's");
  watcher.wish.marks.push_back(Mark{.name = "the watcher's", .event = 1, .time_us = 10});
  watcher.wish.stop_program = true;
  EXPECT_FALSE(recording.wants_stop());
  recording.step(1);
  EXPECT_TRUE(recording.wants_stop());
  recording.drain();
  recording.finish(Ending::Exited, 0, "");
  const Result<TapeReader> tape = TapeReader::open(path);
  ASSERT_TRUE(tape.ok());
  ASSERT_EQ(tape.value().marks().size(), 2u);
  EXPECT_EQ(tape.value().marks()[0].name, "the watcher's");
  EXPECT_EQ(tape.value().marks()[1].event, 2u);
  EXPECT_EQ(tape.value().event_count(), 2u);
  std::filesystem::remove(path);
}

} // namespace
} // namespace heaptape
