// Rings whose program does not do what it should: it stays inside a hook, leaves records unfinished, or writes over the memory.
#include <gtest/gtest.h>

#include <cstring>

#include "collector/recording/fake_program.h"
#include "collector/rings/ring_set.h"

namespace heaptape {
namespace {

TEST(RingSet, AThreadStuckInsideAHookHoldsUpABoundedNumberForABoundedTime) {
  FakeProgram program(4, 64);
  Pipeline pipeline(program, {.most_queued = 200, .stuck_ns = 20'000'000});
  FakeThread stuck(program, 0, 100, 1), other(program, 1, 101, 2);
  pipeline.round();
  stuck.slot.busy = 1;
  std::uint64_t time = 4'000'000'000'000'000, written = 0; // later than any "now"
  const std::uint64_t start = monotonic_ns();
  while (pipeline.events().empty()) {
    ASSERT_LT(monotonic_ns() - start, 10'000'000'000u);
    if (other.has_room()) other.malloc(time += 1, ++written * 16, 8);
    pipeline.round();
    ASSERT_LE(pipeline.rings.queued(), 200u + 256u);
    if (pipeline.rings.forced_rounds() > 3) break;
  }
  EXPECT_GT(pipeline.rings.forced_rounds(), 0u);
}

TEST(RingSet, AFullRingWhoseNextRecordIsNeverFinishedIsReadPastIt) {
  FakeProgram program(2, 128);
  Pipeline pipeline(program, {.stuck_ns = 0});
  FakeThread thread(program, 0, 100, 1);
  pipeline.round();
  (void)thread.reserve(); // a hook was interrupted before it wrote this one
  for (std::uint64_t i = 1; thread.has_room(); ++i) thread.malloc(10 + i, i * 16, 8);
  pipeline.round();
  EXPECT_EQ(thread.slot.taken.load(), thread.slot.reserved.load());
  EXPECT_EQ(pipeline.rings.holes(), 1u);
}

TEST(RingSet, ManyHolesThatStallARingArePassedWithoutStallingAgain) {
  constexpr std::uint32_t kRecords = 16384; // more than a round takes
  FakeProgram program(2, kRecords);
  Pipeline pipeline(program, {.stuck_ns = 0});
  FakeThread thread(program, 0, 100, 1);
  pipeline.round();
  while (thread.has_room()) (void)thread.reserve(); // as if somebody had written over the count
  pipeline.round();
  EXPECT_LT(thread.slot.taken.load(), thread.slot.reserved.load());
  thread.malloc(10, 0x1000, 8);
  for (int i = 0; i < 8; ++i) pipeline.round();
  EXPECT_EQ(thread.slot.taken.load(), thread.slot.reserved.load());
}

TEST(RingSet, EveryRoundIsCountedWhateverTheProgramWritesThere) {
  FakeProgram program(2, 8);
  Pipeline pipeline(program);
  pipeline.round();
  EXPECT_EQ(program.header.drained.load(), 1u) << "also while no slot is in use";
  FakeThread thread(program, 0, 100, 1);
  program.header.drained = 4711;
  program.header.waiting = 0;
  pipeline.round();
  EXPECT_EQ(program.header.drained.load(), 2u);
}

TEST(RingSet, AScribbledSlotDoesNotKeepTheEndFromComing) {
  FakeProgram program(8, 64);
  Pipeline pipeline(program);
  FakeThread honest(program, 0, 100, 1);
  honest.malloc(10, 0x1000, 1);
  program.memory.claims()[0] = ~std::uint64_t{0};
  std::memset(static_cast<void*>(&program.memory.slot(5)), 0xff, sizeof(wire::ThreadSlot));
  pipeline.round();
  pipeline.finish();
  ASSERT_EQ(pipeline.events().size(), 1u);
  EXPECT_EQ(pipeline.events()[0].address, 0x1000u);
  EXPECT_EQ(pipeline.rings.holes(), 64u) << "one lap, not more";
}

TEST(RingSet, ASlotThatSaysAgainAndAgainThatItsThreadHasEndedIsReadOneLapAtATime) {
  FakeProgram program(2, 4096);
  Pipeline pipeline(program);
  FakeThread thread(program, 0, 100, 1);
  thread.exit();
  for (std::uint64_t round = 1; round <= 40; ++round) {
    thread.slot.reserved = ~std::uint64_t{0};
    thread.slot.state = static_cast<std::uint32_t>(wire::SlotState::Exiting);
    program.memory.claims()[0] = 1;
    pipeline.round();
    EXPECT_LE(pipeline.rings.holes(), round * 4096);
  }
}

TEST(RingSet, StampsThatRunBackwardsDoNotMakeTheReaderSortThemAll) {
  constexpr std::uint64_t kRecords = 1 << 18;
  FakeProgram program(2, kRecords);
  Pipeline pipeline(program);
  FakeThread thread(program, 0, 100, 1);
  for (std::uint64_t i = 1; i < kRecords; ++i) thread.malloc(2 * kRecords - i, i * 16, 8);
  pipeline.finish(); // in a second, not in an hour
  EXPECT_EQ(pipeline.events().size(), kRecords - 1);
}

} // namespace
} // namespace heaptape
