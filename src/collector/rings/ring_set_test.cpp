#include "collector/rings/ring_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "collector/recording/fake_program.h"

namespace heaptape {
namespace {

TEST(RingSet, OneThreadComesOutInItsOwnOrder) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread thread(program, 0, 100, 1000);
  thread.malloc(2000, 0x1000, 16);
  thread.malloc(3000, 0x2000, (std::uint64_t{5} << 32) + 7);
  thread.free(4000, 0x1000);
  const Round round = pipeline.round();
  EXPECT_EQ(round.read, 4u);
  ASSERT_EQ(addresses(pipeline), (Addresses{0x1000, 0x2000, 0x1000}));
  const Event& second = pipeline.events()[1];
  EXPECT_EQ(second.number, 2u);
  EXPECT_EQ(second.time_us, 3u);
  EXPECT_EQ(second.size, (std::uint64_t{5} << 32) + 7);
  EXPECT_EQ(second.thread, ThreadId(1));
  EXPECT_EQ(second.kind, EventKind::Malloc);
  EXPECT_EQ(pipeline.list.allocated, (std::vector<std::uint64_t>{0, 0, 1}));
}

TEST(RingSet, SeveralThreadsComeOutInOrderOfTime) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread a(program, 0, 100, 1), b(program, 1, 101, 2), c(program, 2, 102, 3);
  a.malloc(10, 0xa10, 1);
  a.malloc(40, 0xa40, 1);
  b.malloc(20, 0xb20, 1);
  b.malloc(30, 0xb30, 1);
  c.malloc(15, 0xc15, 1);
  c.malloc(45, 0xc45, 1);
  pipeline.round();
  EXPECT_EQ(addresses(pipeline), (Addresses{0xa10, 0xc15, 0xb20, 0xb30, 0xa40, 0xc45}));
  EXPECT_EQ(pipeline.threads.count(), 3u);
}

TEST(RingSet, NothingOvertakesAThreadThatIsInsideAHook) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread a(program, 0, 100, 1), b(program, 1, 101, 2);
  a.malloc(10, 0xa10, 1);
  a.slot.busy = 1; // it has read the clock at 20 and not yet written
  b.malloc(15, 0xb15, 1);
  b.malloc(30, 0xb30, 1);
  pipeline.round();
  EXPECT_EQ(addresses(pipeline), (Addresses{0xa10}));
  a.malloc(20, 0xa20, 1);
  a.slot.busy = 0;
  pipeline.round();
  EXPECT_EQ(addresses(pipeline), (Addresses{0xa10, 0xb15, 0xa20, 0xb30}));
}

TEST(RingSet, ARoundAtOnceDoesNotWaitForAThreadInsideAHook) {
  FakeProgram program;
  Pipeline pipeline(program, {.margin_us = 0});
  FakeThread a(program, 0, 100, 1), b(program, 1, 101, 2);
  a.malloc(10, 0xa10, 1);
  a.slot.busy = 1; // a debugger has stopped it there
  b.malloc(30, 0xb30, 1);
  pipeline.rings.round_at_once(pipeline.clock, pipeline.builder);
  EXPECT_EQ(addresses(pipeline), (Addresses{0xa10, 0xb30}));
  EXPECT_EQ(pipeline.rings.queued(), 0u);
  a.malloc(20, 0xa20, 1);
  a.slot.busy = 0;
  pipeline.round();
  EXPECT_EQ(addresses(pipeline), (Addresses{0xa10, 0xb30, 0xa20}));
  EXPECT_GE(pipeline.events()[2].time_us, pipeline.events()[1].time_us) << "time never goes back on a tape";
}

TEST(RingSet, AThreadThatWasIdleInALaterRoundHoldsUpOnlyWhatIsLater) {
  FakeProgram program;
  Pipeline pipeline(program, {.margin_us = 0});
  FakeThread a(program, 0, 100, 1), b(program, 1, 101, 2);
  pipeline.round(); // both idle: nothing older than now can appear
  a.slot.busy = 1;
  b.malloc(50, 0xb50, 1); // far in the past
  pipeline.round();
  EXPECT_EQ(addresses(pipeline), (Addresses{0xb50}));
}

TEST(RingSet, RingsGoOnInTheNextLap) {
  FakeProgram program(4, 16);
  Pipeline pipeline(program);
  FakeThread thread(program, 0, 100, 1);
  std::uint64_t time = 10, address = 0x1000;
  Addresses expected;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 1 + round % 15; ++i) {
      ASSERT_TRUE(thread.has_room());
      thread.malloc(time += 10, address += 16, 8);
      expected.push_back(address);
    }
    pipeline.round();
  }
  EXPECT_EQ(addresses(pipeline), expected);
  EXPECT_EQ(thread.slot.taken.load(), thread.slot.reserved.load());
}

TEST(RingSet, ARecordThatIsNotReadyHoldsBackThoseBehindIt) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread thread(program, 0, 100, 1);
  thread.slot.busy = 1;
  const std::uint64_t interrupted = thread.reserve();
  thread.malloc(20, 0x2000, 1); // by a signal handler
  pipeline.round();
  EXPECT_EQ(addresses(pipeline), (Addresses{}));
  thread.publish(interrupted, EventKind::Malloc, 30, 0x3000, 1, 0);
  thread.slot.busy = 0;
  pipeline.round();
  EXPECT_EQ(addresses(pipeline), (Addresses{0x2000, 0x3000})); // by time, not by place
}

TEST(RingSet, AfterTheEndEverythingReadyComesOutAndHolesAreCounted) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread a(program, 0, 100, 1), b(program, 1, 101, 2);
  a.malloc(10, 0xa10, 1);
  a.slot.busy = 1;
  a.reserve(); // killed while writing
  a.malloc(30, 0xa30, 1);
  b.malloc(20, 0xb20, 1);
  b.slot.busy = 1;
  pipeline.finish();
  EXPECT_EQ(addresses(pipeline), (Addresses{0xa10, 0xb20, 0xa30}));
  EXPECT_EQ(pipeline.rings.holes(), 1u);
  EXPECT_EQ(pipeline.threads.live().size(), 0u);
}

TEST(RingSet, TheEndIsMergedInOrderEvenWhenRingsExceedOneRound) {
  FakeProgram program(4, 1 << 15);
  Pipeline pipeline(program, {.most_queued = 1000});
  std::vector<FakeThread> threads;
  for (std::uint32_t i = 0; i < 4; ++i) threads.emplace_back(program, i, 100 + i, i + 1);
  std::mt19937_64 random(5);
  std::uint64_t time = 100;
  for (int i = 0; i < 100'000; ++i) {
    FakeThread& thread = threads[random() % 1000 < 900 ? 0 : random() % 4];
    time += random() % 100;
    if (thread.has_room()) thread.malloc(time, time * 16, 8);
  }
  pipeline.finish();
  const Addresses all = addresses(pipeline);
  EXPECT_GT(all.size(), 30'000u);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
}

TEST(RingSet, MergesAnyNumberOfRings) {
  for (std::uint32_t count : {2u, 3u, 5u, 33u, 100u}) {
    FakeProgram program(128, 64);
    Pipeline pipeline(program);
    std::mt19937_64 random(count);
    std::vector<FakeThread> threads;
    for (std::uint32_t i = 0; i < count; ++i) threads.emplace_back(program, i, 100 + i, i + 1);
    std::uint64_t time = 1000, written = 0;
    for (int i = 0; i < 20'000; ++i) {
      FakeThread& thread = threads[random() % count];
      if (!thread.has_room()) pipeline.round();
      time += 1 + random() % 3;
      thread.malloc(time, time * 16, 8);
      ++written;
    }
    pipeline.round();
    pipeline.finish();
    const Addresses all = addresses(pipeline);
    EXPECT_EQ(all.size(), written);
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end())) << count << " rings";
  }
}

TEST(RingSet, ThousandsOfRingsOfDifferentLengthsAreMergedInOrder) {
  constexpr std::uint32_t kThreads = 3000;
  FakeProgram program(4096, 2048);
  Pipeline pipeline(program);
  std::vector<FakeThread> threads;
  for (std::uint32_t i = 0; i < kThreads; ++i) threads.emplace_back(program, i, 100 + i, i + 1);
  std::uint64_t time = 10'000;
  for (std::uint32_t i = 0; i < 10 * kThreads; ++i, time += 3) threads[i * 7 % kThreads].malloc(time, time * 16, 8);
  for (FakeThread& thread : threads) thread.exit();
  pipeline.round();
  const Addresses all = addresses(pipeline);
  EXPECT_EQ(all.size(), 10 * kThreads);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  EXPECT_EQ(pipeline.threads.ended().size(), kThreads);
}

} // namespace
} // namespace heaptape
