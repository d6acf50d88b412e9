#include "recorder/core/slots.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "recorder/core/events.h"
#include "recorder/core/test_memory.h"

namespace heaptape::recorder {
namespace {

void event(std::uint64_t address) {
  (void)record(EventKind::Malloc, address, 8,
               {0x401000, reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)), 0}, false);
}

std::uint32_t state_of(TestMemory& memory, std::uint32_t slot) { return memory.slot(slot).state.load(); }
constexpr auto kExiting = static_cast<std::uint32_t>(wire::SlotState::Exiting);

// Takes all slots that a thread may keep, as if that many threads lived.
void take_all_slots() {
  while (claim_slot() != kNoSlot) {}
}

// Until the thread sleeps because nothing is free.
void await_waiting(TestMemory& memory) {
  while (memory.header().waiting.load() == 0) std::this_thread::yield();
}

TEST(Slots, RingsGetShorterButNeverOverlap) {
  constexpr wire::Config kConfig = wire::make_config(wire::kDefaultSlotCount, wire::kDefaultRingRecords);
  for (std::uint32_t index = 0; index < kConfig.slot_count; ++index) {
    const std::uint64_t bytes = wire::ring_records_of(index, kConfig.ring_records) * sizeof(wire::Record);
    ASSERT_LE(wire::ring_offset(index, kConfig.ring_records) + bytes,
              wire::ring_offset(index + 1, kConfig.ring_records))
        << index;
  }
  EXPECT_EQ(wire::ring_records_of(0, kConfig.ring_records), kConfig.ring_records);
  EXPECT_EQ(wire::ring_records_of(kConfig.slot_count - 1, kConfig.ring_records), wire::kFewestRecords);
  EXPECT_LT(kConfig.scratch, std::uint64_t{1} << 30) << "what every program maps";
}

TEST(Slots, EachIsClaimedOnceAndTheLowestFirst) {
  TestMemory memory(16);
  ASSERT_TRUE(memory.begin());
  for (std::uint32_t expected = 0; expected < 12; ++expected) EXPECT_EQ(claim_slot(), expected);
  EXPECT_EQ(claim_slot(), kNoSlot) << "the last four are lent";
  EXPECT_EQ(claim_lent_slot(), 12u);
  memory.free_slot(5);
  EXPECT_EQ(claim_slot(), 5u);
}

TEST(Slots, MoreThreadsThanTheFirstPieceHoldsMapAnother) {
  TestMemory memory(4 * kSlotsPerPiece, 1024);
  ASSERT_TRUE(memory.begin());
  std::set<ThreadState*> states;
  std::uint32_t slots = 0;
  for (bool more = true; more; more = add_slots() == Growth::Done) {
    for (std::uint32_t index = claim_slot(); index != kNoSlot; index = claim_slot(), ++slots) {
      state_at(index)->tid = index;
      states.insert(state_at(index));
    }
  }
  EXPECT_EQ(slots, 4 * kSlotsPerPiece - 16) << "those that are lent";
  EXPECT_EQ(states.size(), slots);
  EXPECT_EQ(state_at(4 * kSlotsPerPiece - 1)->tid, 4 * kSlotsPerPiece - 1);
}

TEST(Slots, AThreadBeyondTheFirstPieceIsRecorded) {
  TestMemory memory(2 * kSlotsPerPiece, 1024);
  ASSERT_TRUE(memory.begin());
  take_all_slots();
  event(0x1000);
  EXPECT_EQ(memory.kind_at(kSlotsPerPiece, 0), EventKind::ThreadStart);
  EXPECT_EQ(memory.kind_at(kSlotsPerPiece, 1), EventKind::Malloc);
  EXPECT_EQ(memory.loss(wire::Loss::NoThreadSlot), 0u);
}

TEST(Slots, ANewThreadWaitsForTheSlotOfOneThatEnded) {
  TestMemory memory(1);
  ASSERT_TRUE(memory.begin());
  std::thread([] {
    event(0x1000);
    leave_thread();
  }).join();
  ASSERT_EQ(state_of(memory, 0), kExiting);
  std::thread collector([&memory] {
    await_waiting(memory);
    memory.free_slot(0);
  });
  event(0x2000);
  collector.join();
  EXPECT_EQ(memory.loss(wire::Loss::NoThreadSlot), 0u);
  EXPECT_EQ(memory.kind_at(0, 2), EventKind::ThreadEnd);
  EXPECT_EQ(memory.kind_at(0, 3), EventKind::ThreadStart);
  EXPECT_EQ(memory.kind_at(0, 4), EventKind::Malloc);
}

TEST(Slots, WhoeverIsToldToDropDoesNotWaitForASlot) {
  TestMemory memory(1);
  memory.header().config.on_full = wire::OnFull::Drop;
  ASSERT_TRUE(memory.begin());
  event(0x1000);
  std::thread([] { event(0x2000); }).join();
  EXPECT_EQ(memory.loss(wire::Loss::NoThreadSlot), 1u);
}

TEST(Slots, NobodyWaitsForASlotWhenTheCollectorIsDead) {
  TestMemory memory(1);
  ASSERT_TRUE(memory.begin());
  event(0x1000);
  std::thread killer([&memory] {
    await_waiting(memory);
    memory.header().collector_mutex[0].store(wire::kCollectorDied | 1234);
  });
  std::thread([] { event(0x2000); }).join();
  killer.join();
  EXPECT_FALSE(is_recording());
  EXPECT_EQ(memory.loss(wire::Loss::AfterCollector), 1u);
}

TEST(Slots, NobodyWaitsForASlotThatOnlySeemsToComeFreeAfterRecordingHasStopped) {
  TestMemory memory(1);
  ASSERT_TRUE(memory.begin());
  event(0x1000);
  memory.slot(0).state.store(kExiting); // written by somebody else: no collector will free it
  std::thread other([&memory] {
    await_waiting(memory);
    stop_recorder(wire::OffReason::WrittenOver);
  });
  std::thread([] { event(0x2000); }).join();
  other.join();
  EXPECT_EQ(memory.slot(0).reserved.load(), 2u);
}

TEST(Slots, AThreadBeyondTheLastSlotBorrowsOneForEachRecord) {
  TestMemory memory(4);
  ASSERT_TRUE(memory.begin());
  take_all_slots();
  event(0x1000);
  EXPECT_EQ(t_thread, nullptr);
  EXPECT_EQ(memory.kind_at(3, 0), EventKind::ThreadStart);
  EXPECT_EQ(memory.record(3, 0).word2.load() >> 32, wire::kBorrowedSlot);
  EXPECT_EQ(memory.kind_at(3, 1), EventKind::Malloc);
  EXPECT_EQ(state_of(memory, 3), kExiting);
  std::thread collector([&memory] {
    await_waiting(memory);
    memory.free_slot(3);
  });
  event(0x2000);
  collector.join();
  EXPECT_EQ(memory.kind_at(3, 3), EventKind::Malloc);
  EXPECT_EQ(memory.loss(wire::Loss::NoThreadSlot), 0u);
}

TEST(Slots, AThreadThatBorrowedKeepsASlotAsSoonAsThereIsOne) {
  TestMemory memory(4);
  ASSERT_TRUE(memory.begin());
  take_all_slots();
  event(0x1000);
  memory.free_slot(1);
  event(0x2000);
  ASSERT_NE(t_thread, nullptr);
  EXPECT_EQ(memory.kind_at(1, 1), EventKind::Malloc);
  EXPECT_TRUE(memory.is_claimed(1));
}

} // namespace
} // namespace heaptape::recorder
