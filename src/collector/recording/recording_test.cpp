// From shared memory to a tape and back through the reader.
#include "collector/recording/recording.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "collector/recording/fake_program.h"
#include "tape/reader.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kUs = 1000;

// The recording gives up threads that the kernel does not know.
std::uint32_t own_tid() { return static_cast<std::uint32_t>(::getpid()); }

class RecordingTest : public testing::Test {
protected:
  void SetUp() override {
    path = testing::TempDir() + "recording." + std::to_string(::getpid()) + ".tape";
    Result<TapeWriter> created =
        TapeWriter::create({.path = path, .overwrite = true, .start_realtime_ns = 1, .pid = 7});
    ASSERT_TRUE(created.ok());
    writer.emplace(std::move(created).value());
  }
  void TearDown() override { std::filesystem::remove(path); }

  RecordingFacts facts(std::uint64_t max_bytes = 0) const {
    RecordingFacts known;
    known.pid = ::getpid();
    known.tape_start_ns = program.header.clock_base_monotonic_ns;
    known.meta = {{"heaptape", "test"}, {"pid", "wrong"}};
    known.max_tape_bytes = max_bytes;
    return known;
  }

  FakeProgram program{8, 4096};
  std::string path;
  std::optional<TapeWriter> writer;
};

TEST_F(RecordingTest, LossesThatCannotBeAreUnknown) {
  Recording recording(program.memory, *writer, facts());
  program.header.losses[static_cast<std::size_t>(wire::Loss::RingFull)] = ~std::uint64_t{0} / 3;
  recording.drain();
  const Summary summary = recording.finish(Ending::Exited, 0, "");
  EXPECT_EQ(summary.losses, (std::map<std::string, std::uint64_t>{{wire::kLossUnknown, 1}}));
}

TEST_F(RecordingTest, AClockThatSomebodyWroteOverMakesNoLongRecording) {
  program.header.clock_base_ticks = std::uint64_t{1} << 62;
  RecordingFacts known = facts();
  known.tape_start_ns = monotonic_ns();
  Recording recording(program.memory, *writer, std::move(known));
  recording.drain();
  EXPECT_LT(recording.finish(Ending::Exited, 0, "").duration_us, std::uint64_t{3'600'000'000}) << "an hour";
}

TEST_F(RecordingTest, AProgramThatHasMadeNoRecordsForSecondsIsQuiet) {
  Recording recording(program.memory, *writer, facts());
  FakeThread thread(program, 0, own_tid(), 1 * kUs);
  for (std::uint64_t i = 1; i <= 100; ++i) thread.malloc((10 + i) * kUs, i << 16, 100);
  const std::uint64_t now_ns = monotonic_ns();
  recording.step(now_ns);
  EXPECT_FALSE(recording.is_quiet(now_ns));
  EXPECT_TRUE(recording.is_quiet(now_ns + 60'000'000'000));
}

wire::MemoryError overrun(std::uint64_t block) {
  wire::MemoryError error{};
  error.sort = ErrorSort::WriteBehind;
  error.found = FoundAt::Exit;
  error.block = block;
  return error;
}

MemoryErrors errors_of(const std::string& path) {
  const Result<TapeReader> tape = TapeReader::open(path);
  HT_CHECK(tape.ok() && tape.value().damage().empty());
  return tape.value().memory_errors();
}

TEST_F(RecordingTest, WhatTheChecksFindIsOnTheTapeWithItsStack) {
  const std::uint32_t stack = program.node(0, 0x5100);
  RecordingFacts known = facts();
  known.check_mode = "full";
  Recording recording(program.memory, *writer, std::move(known));
  FakeThread thread(program, 0, own_tid(), 1 * kUs);
  thread.malloc(10 * kUs, 0x10000, 100);
  thread.memory_error(20 * kUs, overrun(0x10000), stack);
  recording.drain();
  (void)recording.finish(Ending::Exited, 0, "");
  EXPECT_EQ(recording.memory_errors(), 1u);
  const MemoryErrors errors = errors_of(path);
  EXPECT_EQ(errors.mode, "full");
  ASSERT_EQ(errors.errors.size(), 1u);
  EXPECT_EQ(errors.errors[0].event, 1u);
  EXPECT_EQ(errors.errors[0].time_us, 20u);
  EXPECT_EQ(errors.errors[0].block, 0x10000u);
  EXPECT_EQ(TapeReader::open(path).value().stacks().at(errors.errors[0].stack.value).pc, 0x5100u);
}

TEST_F(RecordingTest, ATapeSaysThatAProgramWithoutErrorsWasChecked) {
  for (const std::string mode : {"check", ""}) {
    SetUp();
    RecordingFacts known = facts();
    known.check_mode = mode;
    Recording recording(program.memory, *writer, std::move(known));
    recording.drain();
    (void)recording.finish(Ending::Exited, 0, "");
    EXPECT_EQ(recording.memory_errors(), 0u);
    EXPECT_EQ(errors_of(path).mode, mode);
    const Result<TapeReader> tape = TapeReader::open(path);
    const auto& sizes = tape.value().chunk_sizes();
    const auto chunks = std::count_if(sizes.begin(), sizes.end(),
                                      [](const ChunkTypeSize& size) { return size.name == "MEMORY ERRORS"; });
    EXPECT_EQ(chunks, mode.empty() ? 0 : 1);
  }
}

TEST_F(RecordingTest, AnErrorIsSoonOnTheTapeBehindTheEventsBeforeIt) {
  RecordingFacts known = facts();
  known.check_mode = "check";
  Recording recording(program.memory, *writer, std::move(known));
  FakeThread thread(program, 0, own_tid(), 1 * kUs);
  thread.malloc(10 * kUs, 0x10000, 100);
  thread.memory_error(20 * kUs, overrun(0x10000));
  const std::uint64_t now_ns = monotonic_ns();
  recording.step(now_ns);
  recording.step(now_ns + 300'000'000); // and then the collector is killed
  EXPECT_EQ(errors_of(path).errors.size(), 1u);
  EXPECT_EQ(TapeReader::open(path).value().event_count(), 1u);
}

TEST_F(RecordingTest, ErrorsThatAreFoundWhenTheTapeIsFullAreCounted) {
  RecordingFacts known = facts(2000);
  known.check_mode = "check";
  Recording recording(program.memory, *writer, std::move(known));
  FakeThread thread(program, 0, own_tid(), 1 * kUs);
  thread.memory_error(2 * kUs, overrun(0x10000));
  for (std::uint64_t i = 1; i <= 3000; ++i) thread.malloc((10 + i) * kUs, i * 0x12340, i);
  recording.step(monotonic_ns());
  recording.flush();
  ASSERT_TRUE(recording.failed());
  thread.memory_error(4000 * kUs, overrun(0x20000));
  recording.drain();
  (void)recording.finish(Ending::CollectorStopped, 0, "");
  EXPECT_EQ(recording.memory_errors(), 2u);
  const MemoryErrors errors = errors_of(path);
  EXPECT_EQ(errors.mode, "check");
  EXPECT_EQ(errors.errors.size(), 1u);
  EXPECT_EQ(errors.left_out, 1u);
}

TEST_F(RecordingTest, ATapeHoldsAllThatHappened) {
  program.module("", 0x5000, 0x9000);
  const std::uint32_t main = program.node(0, 0x5100), f = program.node(main, 0x5200);
  Recording recording(program.memory, *writer, facts());
  FakeThread thread(program, 0, own_tid(), 1 * kUs);
  thread.malloc(10 * kUs, 0x10000, 100, f);
  thread.malloc(20 * kUs, 0x20000, 50, main);
  recording.step(1);
  thread.free(30 * kUs, 0x10000, f);
  program.header.losses[static_cast<std::size_t>(wire::Loss::RingFull)] = 3;
  recording.drain();
  const Summary summary = recording.finish(Ending::Exited, 5, "");
  EXPECT_EQ(summary.events, 3u);

  const Result<TapeReader> tape = TapeReader::open(path);
  ASSERT_TRUE(tape.ok());
  const TapeReader& reader = tape.value();
  EXPECT_TRUE(reader.damage().empty());
  EXPECT_EQ(reader.summary(), summary);
  EXPECT_EQ(reader.summary()->peak_bytes, 150u);
  EXPECT_EQ(reader.summary()->live_bytes, 50u);
  EXPECT_EQ(reader.summary()->ending, Ending::Exited);
  EXPECT_EQ(reader.summary()->ending_detail, 5);
  EXPECT_EQ(reader.summary()->losses, (std::map<std::string, std::uint64_t>{{"ring full", 3}}));
  EXPECT_EQ(reader.meta().at("heaptape"), "test");
  EXPECT_EQ(reader.meta().at("pid"), std::to_string(::getpid())) << "what the kernel says comes first";
  ASSERT_EQ(reader.modules().size(), 1u);
  EXPECT_EQ(reader.modules()[0].path, ProcFiles(::getpid()).executable());
  ASSERT_EQ(reader.threads().size(), 1u);
  EXPECT_EQ(reader.threads()[0].tid, own_tid());
  EXPECT_EQ(reader.threads()[0].ended_us, summary.duration_us) << "it lived as long as the program";
  EXPECT_GE(reader.samples().size(), 1u);
  ASSERT_EQ(reader.maps().size(), 1u);
  const auto stack =
      reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)); // a variable may be on a sanitizer's own stack
  const std::vector<MappedRange> ranges = reader.maps().ranges(0);
  const auto holder = std::find_if(ranges.begin(), ranges.end(),
                                   [&](const MappedRange& range) { return range.begin <= stack && stack < range.end; });
  ASSERT_NE(holder, ranges.end());
  EXPECT_EQ(reader.maps().names()[holder->name], "[stack]");
  EXPECT_GE(reader.threads()[0].stack_top, stack) << "of the main thread, the kernel's word";
  EXPECT_LT(reader.threads()[0].stack_top, holder->end);
  ASSERT_EQ(reader.stacks().size(), 3u);
  EXPECT_EQ(reader.stacks()[2], (StackNode{StackId(1), 0x5200}));
  EventCursor events = reader.events();
  const Event* first = events.next();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->address, 0x10000u);
  EXPECT_EQ(first->stack, StackId(2));
  EXPECT_EQ(first->time_us, 10u);
  EXPECT_EQ(events.next()->size, 50u);
  EXPECT_EQ(events.next()->kind, EventKind::Free);
  EXPECT_EQ(events.next(), nullptr);
}

TEST_F(RecordingTest, ATapeStopsAtItsLimitAndTheRestIsCounted) {
  Recording recording(program.memory, *writer, facts(3000));
  FakeThread thread(program, 0, own_tid(), 1);
  std::uint64_t made = 0, random = 1;
  while (made < 40'000) {
    for (int i = 0; i < 1000; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      thread.malloc(++made * kUs, (random >> 16) & 0x7fff'ffff'fff0, random >> 50);
    }
    recording.step(made);
  }
  EXPECT_TRUE(recording.failed());
  EXPECT_EQ(recording.sink().error()->sentence, "the tape has reached its size limit (--max-tape)");
  recording.drain();
  const Summary summary = recording.finish(Ending::CollectorStopped, 0, "full");
  EXPECT_GT(summary.events, 0u);
  EXPECT_EQ(summary.events + summary.losses.at(wire::kLossNotWritten), made);

  const Result<TapeReader> tape = TapeReader::open(path);
  ASSERT_TRUE(tape.ok());
  EXPECT_EQ(tape.value().event_count(), summary.events);
  EXPECT_EQ(tape.value().summary(), summary);
  EXPECT_EQ(tape.value().summary()->allocated_blocks, summary.events)
      << "the totals are those of the events on the tape";
}

TEST_F(RecordingTest, RecordsLeftUnfinishedAreNamed) {
  Recording recording(program.memory, *writer, facts());
  FakeThread thread(program, 0, own_tid(), 1);
  thread.malloc(10, 0x1000, 8);
  thread.reserve(); // killed here
  recording.step(1);
  recording.drain();
  const Summary summary = recording.finish(Ending::Killed, 9, "");
  EXPECT_EQ(summary.events, 1u);
  EXPECT_EQ(summary.losses, (std::map<std::string, std::uint64_t>{{wire::kLossUnfinished, 1}}));
}

TEST_F(RecordingTest, ThousandsOfShortThreadsAreAllListed) {
  Recording recording(program.memory, *writer, facts());
  for (std::uint32_t i = 1; i <= 3000; ++i) {
    FakeThread thread(program, 0, 10'000'000 + i, i * 10 * kUs);
    ASSERT_TRUE(thread.claimed);
    thread.malloc((i * 10 + 1) * kUs, 0x1000, 8);
    thread.free((i * 10 + 2) * kUs, 0x1000);
    thread.exit();
    recording.step(i);
  }
  recording.drain();
  recording.finish(Ending::Exited, 0, "");
  const Result<TapeReader> tape = TapeReader::open(path);
  ASSERT_TRUE(tape.ok());
  ASSERT_EQ(tape.value().threads().size(), 3000u);
  EXPECT_EQ(tape.value().threads()[2999].tid, 10'003'000u);
  EXPECT_EQ(tape.value().threads()[2999].ended_us, 30'002u);
  EXPECT_EQ(tape.value().threads()[2999].stack_top, 0x7ffc'0000'0000u);
}

TEST_F(RecordingTest, AFlushedTapeReadsUpToNowWhileTheRecordingGoesOn) {
  Recording recording(program.memory, *writer, facts());
  FakeThread thread(program, 0, own_tid(), 1 * kUs), stopped(program, 1, own_tid(), 2 * kUs);
  stopped.slot.busy = 1; // and never goes on
  for (std::uint64_t i = 0; i < 100; ++i) thread.malloc((10 + i) * kUs, 0x10000 + i * 16, 16);
  recording.flush();
  {
    const Result<TapeReader> tape = TapeReader::open(path);
    ASSERT_TRUE(tape.ok());
    EXPECT_EQ(tape.value().event_count(), 100u);
    EXPECT_FALSE(tape.value().summary());
    EXPECT_TRUE(tape.value().damage().empty());
    EXPECT_EQ(tape.value().threads().size(), 2u);
    EXPECT_FALSE(tape.value().samples().empty());
    EXPECT_FALSE(tape.value().maps().empty());
  }
  EXPECT_EQ(recording.figures().live_blocks, 100u);
  EXPECT_EQ(recording.figures().events, 100u);
  thread.free(200 * kUs, 0x10000);
  recording.flush();
  EXPECT_EQ(TapeReader::open(path).value().event_count(), 101u);
}

TEST_F(RecordingTest, AMarkFromOutsideStandsBehindWhatHasHappened) {
  Recording recording(program.memory, *writer, facts());
  FakeThread thread(program, 0, own_tid(), 1 * kUs);
  thread.malloc(10 * kUs, 0x10000, 16);
  thread.malloc(20 * kUs, 0x20000, 16);
  recording.mark("now", MarkKind::Snapshot);
  const Result<TapeReader> tape = TapeReader::open(path);
  ASSERT_EQ(tape.value().marks().size(), 1u);
  const Mark& mark = tape.value().marks().front();
  EXPECT_EQ(mark.name, "now");
  EXPECT_EQ(mark.kind, MarkKind::Snapshot);
  EXPECT_EQ(mark.event, 2u);
  EXPECT_GT(mark.time_us, 20u);
  EXPECT_EQ(mark.thread, ThreadId{});
}

TEST_F(RecordingTest, ARecordingThatIsBrokenOffHasASummaryAndKeepsItsThreadsAlive) {
  Recording recording(program.memory, *writer, facts());
  FakeThread thread(program, 0, own_tid(), 1 * kUs);
  thread.malloc(10 * kUs, 0x10000, 16);
  thread.slot.busy = 1;
  thread.reserve(); // it goes on with this one when we are gone
  recording.break_off();
  const Summary summary = recording.finish(Ending::CollectorStopped, 0, "asked");
  EXPECT_EQ(summary.events, 1u);
  EXPECT_TRUE(summary.losses.empty());
  const Result<TapeReader> tape = TapeReader::open(path);
  EXPECT_EQ(tape.value().summary(), summary);
  EXPECT_EQ(tape.value().threads().at(0).ended_us, 0u);
}

} // namespace
} // namespace heaptape
