#include "analysis/space/memory_ledger.h"

#include <gtest/gtest.h>

#include "analysis/heap/cost_for_test.h"
#include "analysis/space/space_for_test.h"

namespace heaptape {
namespace {

using test::MapLine;
using test::SpaceTape;
using test::Story;

constexpr std::uint64_t kHeap = 0x5555'0000'0000, kMapped = 0x7f00'0000'0000;

MemoryLedger ledger_of(const SpaceTape& tape) {
  const TapeReader reader = tape.open();
  EXPECT_TRUE(memory_ledger_time(reader));
  return make_memory_ledger(reader, tape.state());
}

std::uint64_t sum_of(const MemoryLedger& ledger) {
  return ledger.heap_bytes + ledger.mapping_bytes + ledger.held_bytes + ledger.stack_bytes + ledger.file_bytes +
         ledger.other_bytes;
}

TEST(MemoryLedger, EachResidentByteHasOneLine) {
  Story story;
  story.by(1, 1).make(kHeap + 0x100, 0x2000).by(1, 2).map(kMapped, 0x8000);
  SpaceTape tape(story.events());
  tape.add_maps(15, {{kHeap, kHeap + 0x10000, "rw-p", "[heap]"},
                     {kMapped, kMapped + 0x8000, "rw-p"},
                     {0x7f10'0000'0000, 0x7f10'0000'4000, "r-xp", "/lib/libc.so.6"},
                     {0x7f20'0000'0000, 0x7f20'0001'0000, "rw-s", "/memfd:heaptape (deleted)"},
                     {0x7ffc'0000'0000, 0x7ffc'0002'0000, "rw-p", "[stack]"}});
  tape.residency = Residency{.time_us = 30,
                             .rss_bytes = 0x20000,
                             .whole = true,
                             .runs = {{kHeap, kHeap + 0x4000, false},
                                      {kMapped, kMapped + 0x3000, false},
                                      {0x7f10'0000'0000, 0x7f10'0000'2000, true},
                                      {0x7f20'0000'0000, 0x7f20'0000'5000, true},
                                      {0x7ffc'0001'e000, 0x7ffc'0002'0000, false}}};
  const MemoryLedger ledger = ledger_of(tape);
  EXPECT_TRUE(ledger.from_pages && ledger.whole);
  EXPECT_EQ(ledger.heap_bytes, 0x2000u);
  EXPECT_EQ(ledger.held_bytes, 0x2000u);    // what lies around the block on the four pages of the heap
  EXPECT_EQ(ledger.mapping_bytes, 0x3000u); // five pages were never touched
  EXPECT_EQ(ledger.file_bytes, 0x2000u);
  EXPECT_EQ(ledger.stack_bytes, 0x2000u);
  EXPECT_EQ(ledger.recorder_bytes, 0x5000u);
  EXPECT_EQ(ledger.rss_bytes, 0x20000u);
  EXPECT_EQ(sum_of(ledger), ledger.total_bytes());
  EXPECT_EQ(ledger.total_bytes(), 0x20000u - 0x5000);
  EXPECT_EQ(ledger.blocks, (std::vector<OwnerShare>{{{StackId(1), ThreadId(1)}, {0x2000, 1}}}));
  EXPECT_EQ(ledger.mappings, (std::vector<StackShare>{{StackId(2), {0x3000, 1}}}));
}

TEST(MemoryLedger, AMappingThatHoldsBlocksIsTheAllocatorsAndCountsOnce) {
  Story story;
  story.by(1, 2).map(kMapped, 0x4000).by(1, 1).make(kMapped + 0x10, 0x1000);
  story.by(1, 2).map(kMapped + 0x100000, 0x4000); // of the same stack, and empty
  SpaceTape tape(story.events());
  tape.add_maps(5, {{kHeap, kHeap + 0x1000, "rw-p", "[heap]"}});
  tape.residency =
      Residency{.time_us = 40,
                .rss_bytes = 0x8000,
                .whole = true,
                .runs = {{kMapped, kMapped + 0x4000, false}, {kMapped + 0x100000, kMapped + 0x104000, false}}};
  const MemoryLedger ledger = ledger_of(tape);
  EXPECT_EQ(ledger.heap_bytes, 0x1000u);
  EXPECT_EQ(ledger.held_bytes, 0x7000u);
  EXPECT_EQ(ledger.mapping_bytes, 0u);
  EXPECT_EQ(sum_of(ledger), ledger.total_bytes());
}

TEST(MemoryLedger, AStackThatAppearedAfterTheLastEventIsAStack) {
  Story story;
  story.make(kHeap, 100);
  SpaceTape tape(story.events());
  constexpr std::uint64_t kStack = 0x7f30'0000'0000;
  tape.add_maps(5, {{kHeap, kHeap + 0x4000, "rw-p", "[heap]"}});
  tape.add_maps(500, {{kHeap, kHeap + 0x4000, "rw-p", "[heap]"},
                      {kStack - 0x1000, kStack, "---p"},
                      {kStack, kStack + 0x8000, "rw-p"}});
  tape.residency = Residency{
      .time_us = 501, .rss_bytes = 0x3000, .whole = true, .runs = {{kStack + 0x5000, kStack + 0x8000, false}}};
  const MemoryLedger ledger = ledger_of(tape);
  EXPECT_EQ(ledger.stack_bytes, 0x3000u);
  EXPECT_EQ(ledger.other_bytes, 0u);
}

TEST(MemoryLedger, IsNeverNegativeWhenMorePagesWereFoundThanTheKernelCounted) {
  Story story;
  story.make(kHeap, 100);
  SpaceTape tape(story.events());
  tape.add_maps(5, {{kHeap, kHeap + 0x4000, "rw-p", "[heap]"}});
  tape.residency =
      Residency{.time_us = 20, .rss_bytes = 0x1000, .whole = true, .runs = {{kHeap, kHeap + 0x4000, false}}};
  const MemoryLedger ledger = ledger_of(tape);
  EXPECT_EQ(ledger.rss_bytes, 0x4000u);
  EXPECT_EQ(ledger.other_bytes, 0u);
  EXPECT_EQ(sum_of(ledger), ledger.total_bytes());
}

TEST(MemoryLedger, OfATapeWithoutPagesIsAnEstimateThatStillAddsUp) {
  Story story;
  story.make(kHeap, 0x10'0000).by(1, 2).map(kMapped, 0x10'0000).by(1, 3).reserve(kMapped + 0x10'0000, 0x1000'0000);
  SpaceTape tape(story.events());
  tape.samples = {{.time_us = 10, .rss_bytes = 0x1000, .anonymous_bytes = 0x1000},
                  {.time_us = 40, .rss_bytes = 0x30'0000, .anonymous_bytes = 0x28'0000}};
  const MemoryLedger ledger = ledger_of(tape);
  EXPECT_FALSE(ledger.from_pages);
  EXPECT_EQ(ledger.heap_bytes, 0x10'0000u);
  EXPECT_EQ(ledger.mapping_bytes, 0x10'0000u); // the reservation is not memory
  EXPECT_EQ(ledger.file_bytes, 0x8'0000u);
  EXPECT_EQ(ledger.other_bytes, 0x8'0000u);
  EXPECT_EQ(sum_of(ledger), ledger.total_bytes());
}

} // namespace
} // namespace heaptape
