#include "live/live_heap.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

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
  event.stack = StackId(99);
  return event;
}
Event realloc_of(std::uint64_t old_address, std::uint64_t address, std::uint64_t size, std::uint32_t stack) {
  Event event = malloc_at(address, size, stack);
  event.kind = EventKind::Realloc;
  event.old_address = old_address;
  return event;
}

TEST(LiveHeap, ABlockIsChargedToTheStackThatMadeItWhoeverFreesIt) {
  LiveHeap heap;
  heap.apply(malloc_at(0x1000, 100, 5));
  heap.apply(malloc_at(0x2000, 50, 7));
  heap.apply(free_at(0x1000));
  ASSERT_EQ(heap.tallies().size(), 2u);
  EXPECT_EQ(heap.tallies()[0], (StackTally{StackId(5), {100, 1}, {100, 1}}));
  EXPECT_EQ(heap.tallies()[1].live(), (Cost{50, 1}));
  EXPECT_EQ(heap.live(), (Cost{50, 1}));
  EXPECT_EQ(heap.churn_bytes(), 250u);
  EXPECT_EQ(heap.peak_bytes(), 150u);
}

TEST(LiveHeap, AReallocFreesTheOldBlockAndMakesTheNewOne) {
  LiveHeap heap;
  heap.apply(malloc_at(0x1000, 100, 1));
  heap.take_changes();
  heap.apply(realloc_of(0x1000, 0x1000, 160, 2));
  EXPECT_EQ(heap.peak_bytes(), 160u) << "both are never there at once";
  EXPECT_EQ(heap.take_changes(), (std::vector<StackTally>{{StackId(1), {}, {100, 1}}, {StackId(2), {160, 1}, {}}}));
  heap.apply(realloc_of(0x1000, 0, 0, 3));
  EXPECT_EQ(heap.live(), Cost{});
}

TEST(LiveHeap, ChangesAreToldOnce) {
  LiveHeap heap;
  heap.apply(malloc_at(0x1000, 10, 1));
  EXPECT_EQ(heap.take_changes().size(), 1u);
  EXPECT_TRUE(heap.take_changes().empty());
  EXPECT_EQ(heap.churn_bytes(), 0u);
}

TEST(LiveHeap, WhatWasMadeBeforeTheRecordingIsNobodys) {
  LiveHeap heap;
  heap.apply(free_at(0x1000));
  heap.apply(realloc_of(0x2000, 0x3000, 8, 1));
  EXPECT_EQ(heap.allocated(), (Cost{8, 1}));
  EXPECT_EQ(heap.freed(), Cost{});
}

TEST(LiveHeap, ABlockWhoseReleaseIsLostEndsWhenItsAddressIsMadeAgain) {
  LiveHeap heap;
  heap.apply(malloc_at(0x1000, 10, 1));
  heap.apply(malloc_at(0x1000, 20, 2));
  EXPECT_EQ(heap.live(), (Cost{20, 1}));
  EXPECT_EQ(heap.tallies()[0].live(), Cost{});
}

TEST(LiveHeap, TheLargestComeFirstAndWhatHoldsNothingIsLeftOut) {
  LiveHeap heap;
  heap.apply(malloc_at(0x1000, 10, 1));
  heap.apply(malloc_at(0x2000, 30, 2));
  heap.apply(malloc_at(0x3000, 20, 3));
  heap.apply(malloc_at(0x4000, 99, 4));
  heap.apply(free_at(0x4000));
  const std::vector<StackTally> two = heap.largest(2);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].stack, StackId(2));
  EXPECT_EQ(two[1].stack, StackId(3));
  EXPECT_EQ(heap.largest(100).size(), 3u);
}

// The same from a plain map, summed anew each time.
TEST(LiveHeap, AgreesWithANaiveModelAfterEveryStepOfARandomStory) {
  struct Block {
    std::uint64_t size;
    std::uint32_t stack;
  };
  std::mt19937_64 random(7);
  LiveHeap heap;
  std::map<std::uint64_t, Block> blocks;
  std::map<std::uint32_t, StackTally> all, since;
  const auto end = [&](std::uint64_t address) {
    const auto found = blocks.find(address);
    if (found == blocks.end()) return;
    all[found->second.stack].freed += Cost::of(found->second.size);
    since[found->second.stack].freed += Cost::of(found->second.size);
    blocks.erase(found);
  };
  const auto make = [&](std::uint64_t address, Block block) {
    end(address);
    blocks[address] = block;
    all[block.stack].allocated += Cost::of(block.size);
    since[block.stack].allocated += Cost::of(block.size);
  };
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t address = (1 + random() % 300) * 16, other = (1 + random() % 300) * 16;
    const Block block{random() % 5000, static_cast<std::uint32_t>(random() % 40)};
    switch (random() % 3) {
    case 0:
      heap.apply(malloc_at(address, block.size, block.stack));
      make(address, block);
      break;
    case 1:
      heap.apply(free_at(address));
      end(address);
      break;
    default:
      heap.apply(realloc_of(address, other, block.size, block.stack));
      end(address);
      make(other, block);
      break;
    }
    Cost live, allocated;
    for (const auto& [at, one] : blocks) live += Cost::of(one.size);
    for (const auto& [stack, tally] : all) allocated += tally.allocated;
    ASSERT_EQ(heap.live(), live);
    ASSERT_EQ(heap.allocated(), allocated);
    ASSERT_EQ(heap.live(), heap.allocated() - heap.freed());
    if (random() % 50 != 0) continue;
    const std::vector<StackTally> changes = heap.take_changes();
    ASSERT_EQ(changes.size(), since.size());
    for (const StackTally& change : changes) {
      ASSERT_EQ(change.allocated, since[change.stack.value].allocated);
      ASSERT_EQ(change.freed, since[change.stack.value].freed);
    }
    since.clear();
  }
  for (const StackTally& tally : heap.tallies()) {
    EXPECT_EQ(tally.allocated, all[tally.stack.value].allocated);
    EXPECT_EQ(tally.freed, all[tally.stack.value].freed);
  }
}

} // namespace
} // namespace heaptape
