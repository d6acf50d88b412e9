#include "recorder/core/ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "recorder/core/events.h"
#include "recorder/core/test_memory.h"

namespace heaptape::recorder {
namespace {

// Records from this thread without stacks; the capture has tests of its own.
class RingTest : public testing::Test {
protected:
  void begin(TestMemory& memory) { ASSERT_TRUE(memory.begin()); }
  void event(std::uint64_t address, std::uint64_t size = 8) {
    (void)record(EventKind::Malloc, address, size,
                 {0x401000, reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)), 0}, false);
  }
};

TEST_F(RingTest, AThreadBeginsWithARecordOfItself) {
  TestMemory memory;
  begin(memory);
  event(0x1000);
  EXPECT_EQ(memory.kind_at(0, 0), EventKind::ThreadStart);
  EXPECT_EQ(memory.kind_at(0, 1), EventKind::Malloc);
  EXPECT_TRUE(memory.is_ready(0, 1));
  EXPECT_FALSE(memory.is_ready(0, 2));
}

TEST_F(RingTest, SizesAndAddressesOfFortyEightBitsArrive) {
  TestMemory memory;
  begin(memory);
  event(0x7fff'1234'5670, 0x1234'5678'9abc);
  const wire::Record& record = memory.record(0, 1);
  EXPECT_EQ(record.word1.load() & wire::kAddressMask, 0x7fff'1234'5670u);
  EXPECT_EQ((record.word1.load() >> 48) << 32 | (record.word2.load() & 0xffff'ffff), 0x1234'5678'9abcu);
}

TEST_F(RingTest, ThePhaseTurnsWithEachLapSoOldRecordsAreNotTakenForNewOnes) {
  TestMemory memory(2, 128);
  begin(memory);
  for (std::uint64_t i = 0; i < 200; ++i) {
    event(0x1000 + i * 16);
    memory.slot(0).taken.store(memory.slot(0).reserved.load()); // a collector that keeps up
  }
  EXPECT_EQ(memory.slot(0).reserved.load(), 201u);
  EXPECT_TRUE(memory.is_ready(0, 200));
  EXPECT_FALSE(memory.is_ready(0, 201));
}

TEST_F(RingTest, AFullRingDropsAndCountsWhenToldTo) {
  TestMemory memory(2, 128);
  memory.header().config.on_full = wire::OnFull::Drop;
  begin(memory);
  for (std::uint64_t i = 0; i < 500; ++i) event(0x1000 + i * 16);
  const std::uint64_t kept = memory.slot(0).reserved.load() - 1;
  EXPECT_LT(kept, 128u);
  EXPECT_EQ(memory.loss(wire::Loss::RingFull), 500 - kept);
}

TEST_F(RingTest, AFullRingWaitsForTheCollectorAndLosesNothing) {
  TestMemory memory(2, 128);
  begin(memory);
  constexpr std::uint64_t kEvents = 5000;
  std::thread collector([&memory] {
    std::uint64_t taken = 0;
    while (taken < kEvents + 1) {
      while (taken < kEvents + 1 && memory.is_ready(0, taken)) ++taken;
      memory.slot(0).taken.store(taken, std::memory_order_release);
      memory.header().drained.fetch_add(1);
    }
  });
  for (std::uint64_t i = 0; i < kEvents; ++i) event(0x1000 + i * 16);
  collector.join();
  EXPECT_EQ(memory.loss(wire::Loss::RingFull), 0u);
  EXPECT_EQ(memory.slot(0).reserved.load(), kEvents + 1);
}

TEST_F(RingTest, ACollectorThatDiedSwitchesRecordingOffInsteadOfHanging) {
  TestMemory memory(2, 128);
  memory.header().collector_mutex[0].store(wire::kCollectorDied | 1234);
  begin(memory);
  for (std::uint64_t i = 0; i < 500; ++i) event(0x1000 + i * 16);
  EXPECT_FALSE(is_recording());
  EXPECT_GT(memory.loss(wire::Loss::AfterCollector), 0u);
}

TEST_F(RingTest, ASlotThatSomebodyWroteOverSwitchesRecordingOffInsteadOfHanging) {
  TestMemory memory(2, 128);
  begin(memory);
  event(0x1000);
  memory.slot(0).reserved.store(std::uint64_t{1} << 40);
  event(0x2000);
  EXPECT_FALSE(is_recording());
  EXPECT_EQ(memory.header().off_reason.load(), static_cast<std::uint32_t>(wire::OffReason::WrittenOver));
}

TEST_F(RingTest, AHeaderThatSomebodyWroteOverDoesNotMisleadNewThreads) {
  TestMemory memory;
  begin(memory);
  std::memset(static_cast<void*>(&memory.header().config), 0xff, sizeof(wire::Config));
  event(0x1000);
  EXPECT_EQ(memory.kind_at(0, 0), EventKind::ThreadStart);
  EXPECT_EQ(memory.kind_at(0, 1), EventKind::Malloc);
}

TEST_F(RingTest, FillingHolesOfASlotThatSomebodyWroteOverEnds) {
  TestMemory memory(2, 128);
  begin(memory);
  event(0x1000);
  memory.slot(0).reserved.store(std::uint64_t{1} << 62);
  fill_holes(*t_thread);
  EXPECT_FALSE(memory.is_ready(0, 2)) << "nothing was believed";
}

TEST_F(RingTest, WhoeverWaitsStopsWhenAnotherThreadHasFoundOutThatItIsInVain) {
  TestMemory memory(2, 128);
  begin(memory);
  std::thread other([&memory] {
    while (memory.header().waiting.load() == 0) std::this_thread::yield();
    stop_recorder(wire::OffReason::WrittenOver);
  });
  for (std::uint64_t i = 0; i < 500; ++i) event(0x1000 + i * 16); // nobody takes anything out
  other.join();
  EXPECT_LE(memory.slot(0).reserved.load(), 128u);
}

TEST_F(RingTest, AThreadWhoseClaimSomebodyWroteOverSwitchesRecordingOffInsteadOfHanging) {
  TestMemory memory(2, 128);
  begin(memory);
  event(0x1000);
  memory.claims(0).store(0);
  for (std::uint64_t i = 0; i < 500; ++i) event(0x1000 + i * 16);
  EXPECT_EQ(memory.header().off_reason.load(), static_cast<std::uint32_t>(wire::OffReason::WrittenOver));
}

TEST_F(RingTest, RecordsThatWereNeverFinishedBecomeFillers) {
  TestMemory memory;
  begin(memory);
  event(0x1000);
  (void)take_one(reinterpret_cast<std::uint64_t*>(&memory.slot(0).reserved));
  event(0x2000);
  EXPECT_FALSE(memory.is_ready(0, 2));
  fill_holes(*t_thread);
  EXPECT_TRUE(memory.is_ready(0, 2));
  EXPECT_EQ(memory.kind_at(0, 2), EventKind::None);
  EXPECT_EQ(memory.kind_at(0, 3), EventKind::Malloc);
}

TEST_F(RingTest, AThreadThatLeavesGivesItsSlotBack) {
  TestMemory memory;
  begin(memory);
  std::thread([this] {
    event(0x1000);
    leave_thread();
  }).join();
  EXPECT_EQ(memory.slot(0).state.load(), static_cast<std::uint32_t>(wire::SlotState::Exiting));
}

TEST_F(RingTest, SuppressedEventsAreNotRecordedButMappingsAre) {
  TestMemory memory;
  begin(memory);
  event(0x1000);
  {
    const Suppressed suppressed;
    event(0x2000);
    (void)record(EventKind::MmapAnonymous, 0x10000, 4096, {0x401000, 0, 0}, false);
  }
  event(0x3000);
  EXPECT_EQ(memory.kind_at(0, 2), EventKind::MmapAnonymous);
  EXPECT_EQ(memory.kind_at(0, 3), EventKind::Malloc);
  EXPECT_EQ(memory.slot(0).reserved.load(), 4u);
}

} // namespace
} // namespace heaptape::recorder
