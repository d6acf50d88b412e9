// How the ring set gives out slots again: threads that ended, that vanished, and that only borrowed one.
#include "collector/rings/ring_set.h"

#include <gtest/gtest.h>

#include "collector/recording/fake_program.h"

namespace heaptape {
namespace {

TEST(RingSet, ASlotIsUsedAgainByTheNextThread) {
  FakeProgram program;
  Pipeline pipeline(program);
  {
    FakeThread first(program, 0, 100, 1);
    first.malloc(10, 0x1000, 1);
    first.exit();
  }
  pipeline.round();
  EXPECT_EQ(program.memory.slot(0).state.load(), static_cast<std::uint32_t>(wire::SlotState::Free));
  FakeThread second(program, 0, 200, 20);
  ASSERT_TRUE(second.claimed);
  second.malloc(30, 0x2000, 1);
  pipeline.round();
  ASSERT_EQ(addresses(pipeline), (Addresses{0x1000, 0x2000}));
  EXPECT_EQ(pipeline.events()[0].thread, ThreadId(1));
  EXPECT_EQ(pipeline.events()[1].thread, ThreadId(2));
  ASSERT_EQ(pipeline.threads.ended().size(), 1u);
  EXPECT_EQ(pipeline.threads.ended()[0].thread.tid, 100u);
  EXPECT_EQ(pipeline.threads.live().at(2).tid, 200u);
}

TEST(RingSet, TenThousandShortThreadsLeaveOneReader) {
  FakeProgram program(8, 16);
  Pipeline pipeline(program);
  std::uint64_t time = 10;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    FakeThread thread(program, 0, 1000 + i, time += 10);
    ASSERT_TRUE(thread.claimed);
    thread.malloc(time += 10, 0x1000, 8);
    thread.free(time += 10, 0x1000);
    thread.exit();
    pipeline.round();
  }
  EXPECT_EQ(pipeline.events().size(), 20'000u);
  EXPECT_EQ(pipeline.threads.ended().size(), 10'000u);
  EXPECT_EQ(pipeline.threads.live().size(), 0u);
}

TEST(RingSet, AThreadGoneWithoutAWordIsReaped) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread silent(program, 0, 100, 1), other(program, 1, 101, 2);
  silent.malloc(10, 0x1000, 1);
  silent.slot.busy = 1;
  silent.reserve(); // killed in the middle
  pipeline.round();
  other.malloc(50, 0x2000, 1);
  pipeline.round();
  EXPECT_EQ(addresses(pipeline), (Addresses{0x1000})) << "held up by the thread that seems to be inside a hook";
  pipeline.rings.reap(16, [](std::uint32_t tid) { return tid == 100; });
  pipeline.round();
  EXPECT_EQ(addresses(pipeline), (Addresses{0x1000, 0x2000}));
  EXPECT_EQ(silent.slot.state.load(), static_cast<std::uint32_t>(wire::SlotState::Free));
  EXPECT_EQ(pipeline.rings.holes(), 1u);
}

TEST(RingSet, AClosedHoleDoesNotLookReadyOneLapLater) {
  FakeProgram program(2, 8);
  Pipeline pipeline(program);
  {
    FakeThread first(program, 0, 100, 1);
    first.malloc(10, 0x1000, 1);
    first.reserve();
    first.exit();
  }
  pipeline.round();
  FakeThread second(program, 0, 101, 20);
  Addresses expected = {0x1000};
  for (std::uint64_t i = 0; i < 40; ++i) {
    second.malloc(30 + i, 0x2000 + i * 16, 1);
    expected.push_back(0x2000 + i * 16);
    pipeline.round();
    ASSERT_EQ(addresses(pipeline), expected);
  }
}

// As a thread beyond the last slot does it: one record, then the slot is given back.
template <class Put>
void borrow(FakeProgram& program, std::uint32_t slot, std::uint32_t tid, std::uint64_t time, Put&& put) {
  FakeThread thread(program, slot, tid, time, true);
  ASSERT_TRUE(thread.claimed);
  put(thread);
  thread.exit();
}

TEST(RingSet, AThreadThatBorrowsSlotsIsOneThreadAndItsReallocOneEvent) {
  FakeProgram program;
  Pipeline pipeline(program);
  borrow(program, 3, 100, 10, [](FakeThread& thread) { thread.malloc(11, 0x1000, 8); });
  borrow(program, 4, 100, 20, [](FakeThread& thread) { thread.realloc_begin(21, 0x1000); });
  borrow(program, 5, 200, 30, [](FakeThread& thread) { thread.malloc(31, 0x3000, 8); });
  pipeline.round();
  borrow(program, 4, 200, 40, [](FakeThread& thread) { thread.free(41, 0x3000); });
  borrow(program, 3, 100, 50, [](FakeThread& thread) { thread.realloc_end(51, 0x2000, 16); });
  pipeline.round();
  ASSERT_EQ(addresses(pipeline), (Addresses{0x1000, 0x3000, 0x3000, 0x2000}));
  EXPECT_EQ(pipeline.events()[0].thread, ThreadId(1));
  EXPECT_EQ(pipeline.events()[1].thread, ThreadId(2));
  EXPECT_EQ(pipeline.events()[2].thread, ThreadId(2));
  EXPECT_EQ(pipeline.events()[3].thread, ThreadId(1));
  EXPECT_EQ(pipeline.events()[3].old_address, 0x1000u);
  EXPECT_EQ(pipeline.threads.live().size(), 2u);
  for (int i = 0; i < 2; ++i) pipeline.threads.reap_borrowers(16, [](std::uint32_t tid) { return tid == 100; });
  EXPECT_EQ(pipeline.threads.live().size(), 1u);
  pipeline.finish();
  EXPECT_EQ(pipeline.threads.live().size(), 0u);
}

TEST(RingSet, AThreadThatBorrowedASlotAndThenGotOneIsStillOneThread) {
  FakeProgram program;
  Pipeline pipeline(program);
  borrow(program, 9, 100, 10, [](FakeThread& thread) { thread.malloc(11, 0x1000, 8); });
  borrow(program, 8, 100, 20, [](FakeThread& thread) { thread.realloc_begin(21, 0x1000); });
  FakeThread own(program, 0, 100, 30, true); // read before the others
  own.realloc_end(31, 0x2000, 16);
  pipeline.round();
  ASSERT_EQ(addresses(pipeline), (Addresses{0x1000, 0x2000}));
  EXPECT_EQ(pipeline.events()[1].old_address, 0x1000u);
  EXPECT_EQ(pipeline.events()[0].thread, pipeline.events()[1].thread);
  EXPECT_EQ(pipeline.threads.count(), 1u);
}

} // namespace
} // namespace heaptape
