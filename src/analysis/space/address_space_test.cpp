#include "analysis/space/address_space.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/space/space_for_test.h"

namespace heaptape {
namespace {

using test::SpaceTape;
using test::Story;

constexpr std::uint64_t kHeap = 0x5555'6000'0000;
constexpr std::uint64_t kArena = 0x7f10'4000'0000; // aligned to 64 MiB
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

const SpaceRange& range_at(const AddressSpace& space, std::uint64_t address) {
  const SpaceRange* range = space.find(address);
  HT_CHECK(range != nullptr);
  return *range;
}

void expect_in_order(const AddressSpace& space) {
  std::uint64_t end = 0;
  for (const SpaceRange& range : space.ranges) {
    EXPECT_LE(end, range.begin);
    EXPECT_LT(range.begin, range.end);
    EXPECT_LE(range.committed, range.bytes());
    EXPECT_LT(range.name, space.names.size());
    end = range.end;
  }
}

TEST(AddressSpace, TheKernelsNamesBecomeKinds) {
  Story story;
  story.make(kHeap + 0x2a0, 100);
  SpaceTape tape(story.events());
  tape.add_maps(5, {{kHeap, kHeap + 0x21000, "rw-p", "[heap]"},
                    {0x7f00'0000'0000, 0x7f00'0000'1000, "r--s", "/var/data with space"},
                    {0x7f00'0000'1000, 0x7f00'0000'3000, "---p", ""},
                    {0x7f00'0000'3000, 0x7f00'0000'4000, "rw-p", "[anon:pool]"},
                    {0x7f00'0000'5000, 0x7f00'0000'6000, "r-xp", "/lib/unheard-of.so"},
                    {0x7ffc'0000'0000, 0x7ffc'0002'1000, "rw-p", "[stack]"},
                    {0x7ffc'1000'0000, 0x7ffc'1000'1000, "r-xp", "[vdso]"}});
  const AddressSpace space = tape.space();
  expect_in_order(space);
  EXPECT_TRUE(space.from_kernel);
  EXPECT_EQ(space.maps_us, 5u);
  EXPECT_EQ(range_at(space, kHeap + 1).kind, RangeKind::MainHeap);
  const SpaceRange& file = range_at(space, 0x7f00'0000'0000);
  EXPECT_EQ(file.kind, RangeKind::File);
  EXPECT_EQ(space.names[file.name], "/var/data with space");
  EXPECT_EQ(std::string(file.permissions.begin(), file.permissions.end()), "r--s");
  EXPECT_EQ(range_at(space, 0x7f00'0000'1000).kind, RangeKind::Anonymous);
  EXPECT_EQ(range_at(space, 0x7f00'0000'1000).committed, 0u);
  EXPECT_EQ(range_at(space, 0x7f00'0000'3000).kind, RangeKind::Anonymous);
  EXPECT_EQ(range_at(space, 0x7f00'0000'5000).kind, RangeKind::Module);
  EXPECT_EQ(range_at(space, 0x7ffc'0000'0000).kind, RangeKind::MainStack);
  EXPECT_EQ(range_at(space, 0x7ffc'1000'0000).kind, RangeKind::Special);
  EXPECT_EQ(space.find(kHeap - 1), nullptr);
  EXPECT_EQ(space.find(0x7f00'0000'4000), nullptr);
}

TEST(AddressSpace, ArenasOfGlibcAreSeenByTheirShapeEvenBetweenNeighbours) {
  Story story;
  story.make(kArena + 0x9000, 100);
  SpaceTape tape(story.events());
  // A mapping right below the arena, which the kernel joins with its open part; a guard right above, joined with its rest.
  tape.add_maps(5, {{kArena - 0x3000, kArena + 0x21000, "rw-p", ""},
                    {kArena + 0x21000, kArena + 64 * kMiB + 0x1000, "---p", ""},
                    {kArena + 64 * kMiB + 0x1000, kArena + 72 * kMiB, "rw-p", ""}});
  const AddressSpace space = tape.space();
  expect_in_order(space);
  const SpaceRange& arena = range_at(space, kArena);
  EXPECT_EQ(arena.kind, RangeKind::ThreadArena);
  EXPECT_EQ(arena.begin, kArena);
  EXPECT_EQ(arena.bytes(), 64 * kMiB);
  EXPECT_EQ(arena.committed, 0x21000u);
  EXPECT_EQ(range_at(space, kArena - 1).kind, RangeKind::Anonymous);
  EXPECT_EQ(range_at(space, kArena + 64 * kMiB).bytes(), 0x1000u);
}

TEST(AddressSpace, AnArenaThatIsOpenToItsEndIsKnownByItsSmallBlocks) {
  Story story;
  story.make(kArena + 0x9000, 100).make(kArena + 64 * kMiB + 0x9000, 100);
  SpaceTape tape(story.events());
  tape.add_maps(5, {{kArena, kArena + 64 * kMiB + 0x21000, "rw-p", ""},
                    {kArena + 64 * kMiB + 0x21000, kArena + 128 * kMiB, "---p", ""}});
  const AddressSpace space = tape.space();
  expect_in_order(space);
  EXPECT_EQ(range_at(space, kArena).kind, RangeKind::ThreadArena);
  EXPECT_EQ(range_at(space, kArena).committed, 64 * kMiB);
  EXPECT_EQ(range_at(space, kArena + 64 * kMiB).kind, RangeKind::ThreadArena);
}

TEST(AddressSpace, AStackBelongsToTheLatestThreadThatBeganOnIt) {
  Story story;
  story.make(kHeap, 100).wait_us(1000).make(kHeap + 200, 100);
  const std::uint64_t stack = 0x7f20'0000'0000;
  const std::vector<test::MapLine> lines{{kHeap, kHeap + 0x21000, "rw-p", "[heap]"},
                                         {stack, stack + 0x1000, "---p", ""},
                                         {stack + 0x1000, stack + 0x9000, "rw-p", ""},
                                         {0x7ffc'0000'0000, 0x7ffc'0002'1000, "rw-p", "[stack]"}};
  SpaceTape tape(story.events());
  tape.add_maps(1, lines);
  // The kernel joined the stack with two pages above it.
  tape.threads = {{ThreadId(1), 4711, "main", 0, 0, 0x7ffc'0002'0f00},
                  {ThreadId(2), 4712, "w", 5, 500, stack + 0x66c0},
                  {ThreadId(3), 4713, "w", 600, 0, stack + 0x66c0}};
  const AddressSpace early = tape.space(1);
  expect_in_order(early);
  const SpaceRange& own = range_at(early, stack + 0x2000);
  EXPECT_EQ(own.kind, RangeKind::ThreadStack);
  EXPECT_EQ(own.thread, ThreadId(2));
  EXPECT_EQ(own.begin, stack);
  EXPECT_EQ(own.end, stack + 0x7000);
  EXPECT_EQ(own.committed, 0x6000u);
  EXPECT_EQ(range_at(early, stack + 0x7000).kind, RangeKind::Anonymous);
  EXPECT_EQ(range_at(early, 0x7ffc'0000'0000).thread, ThreadId(1));
  const AddressSpace late = tape.space(2);
  EXPECT_EQ(range_at(late, stack + 0x2000).kind, RangeKind::ThreadStack);
  EXPECT_EQ(range_at(late, stack + 0x2000).thread, ThreadId(3));
}

TEST(AddressSpace, TheRecordersOwnMemoryIsApart) {
  Story story;
  story.make(0x7f20'0000'0010, 0x400000);
  SpaceTape tape(story.events());
  const std::uint64_t shared = 0x7f40'0000'0000;
  tape.add_maps(5, {{0x7f20'0000'0000, 0x7f20'0040'1000, "rw-p", ""},
                    {shared - 0x900000, shared - 0x800000, "rw-p", ""},
                    {shared - 0x800000, shared, "rw-p", ""},
                    {shared, shared + 0x40000000, "rw-s", "/memfd:heaptape (deleted)"},
                    {shared + 0x40000000, shared + 0x40001000, "rw-p", ""}});
  const AddressSpace space = tape.space();
  for (const std::uint64_t own : {shared, shared - 1, shared - 0x900000})
    EXPECT_EQ(range_at(space, own).kind, RangeKind::Special);
  EXPECT_EQ(range_at(space, shared + 0x40000000).kind, RangeKind::Anonymous);
  EXPECT_EQ(range_at(space, 0x7f20'0000'0010).kind, RangeKind::Anonymous);
}

TEST(AddressSpace, AModuleHasItsSegmentsAndTheZeroedMemoryBehindThem) {
  Story story;
  story.make(kHeap, 100);
  SpaceTape tape(story.events());
  const std::uint64_t library = 0x7f30'0000'0000;
  tape.modules = {
      {"/lib/link.so",
       {},
       library,
       library,
       library + 0x5000,
       0,
       {{library, 0x1800, 0, 5}, {library + 0x2e00, 0x2100, 0x1e00, 6}}},
      {"/lib/gone.so", {}, library, library + 0x8000, library + 0x9000, 0, {{library + 0x8000, 0x1000, 0, 6}}}};
  tape.add_maps(5, {{library, library + 0x2000, "r-xp", "/usr/lib/real.so", 0},
                    {library + 0x2000, library + 0x3000, "r--p", "/usr/lib/real.so", 0x1000},
                    {library + 0x3000, library + 0x9000, "rw-p", ""}});
  const AddressSpace space = tape.space();
  expect_in_order(space);
  EXPECT_EQ(range_at(space, library + 0x2000).kind, RangeKind::Module);
  const SpaceRange& zeroed = range_at(space, library + 0x3000);
  EXPECT_EQ(zeroed.kind, RangeKind::Module);
  EXPECT_EQ(space.names[zeroed.name], "/usr/lib/real.so");
  EXPECT_EQ(zeroed.end, library + 0x5000);
  EXPECT_EQ(range_at(space, library + 0x5000).kind, RangeKind::Anonymous);
  EXPECT_EQ(range_at(space, library + 0x8000).kind, RangeKind::Anonymous);
}

TEST(AddressSpace, MappingsOfTheProgramCarryTheirEventsAndFollowIt) {
  const std::uint64_t early = 0x7f40'0000'0000, late = 0x7f41'0000'0000;
  Story story;
  story.map(early, 0x4000);          // event 1, 10 us
  story.map(early + 0x4000, 0x2000); // event 2, 20 us; the kernel joins it with the first
  story.wait_us(1000);
  story.unmap(early, 0x1000); // event 3
  story.map(late, 0x3000);    // event 4
  SpaceTape tape(story.events());
  tape.add_maps(100, {{early - 0x1000, early + 0x6000, "rw-p", ""}});
  const AddressSpace before = tape.space(2);
  expect_in_order(before);
  EXPECT_EQ(range_at(before, early - 1).event, 0u);
  EXPECT_EQ(range_at(before, early).event, 1u);
  EXPECT_EQ(range_at(before, early + 0x4000).event, 2u);
  EXPECT_EQ(before.find(late), nullptr);
  const AddressSpace after = tape.space(4);
  expect_in_order(after);
  EXPECT_EQ(after.find(early), nullptr);
  EXPECT_EQ(range_at(after, early + 0x1000).event, 1u);
  EXPECT_EQ(range_at(after, late).event, 4u);
  EXPECT_EQ(range_at(after, late).bytes(), 0x3000u);
}

TEST(AddressSpace, WhatWasMappedBeforeTheKernelWasFirstAskedIsNotThereYet) {
  const std::uint64_t place = 0x7f40'0000'0000;
  Story story;
  story.make(kHeap, 10).map(place, 0x4000);
  SpaceTape tape(story.events());
  tape.add_maps(100, {{kHeap, kHeap + 0x21000, "rw-p", "[heap]"}, {place, place + 0x4000, "rw-p", ""}});
  EXPECT_EQ(tape.space(1).find(place), nullptr);
  EXPECT_NE(tape.space(2).find(place), nullptr);
}

TEST(AddressSpace, EveryLiveBlockLiesInARangeHoweverOldTheKernelsWordIs) {
  Story story;
  story.make(kHeap + 0x100, 100);                              // before
  story.wait_us(1000).make(kHeap + 0x50000, 100);              // the heap has grown since
  story.make(kArena + 0x40000, 100);                           // the arena too
  story.make(0x7f50'0000'0010, 0x40000);                       // mapped by malloc itself
  story.make(0x7f60'0000'0010, 64).make(0x7f60'0001'0010, 64); // nobody ever says what it is
  SpaceTape tape(story.events());
  const auto lines = [&](std::uint64_t heap, std::uint64_t arena) {
    return std::vector<test::MapLine>{{kHeap, kHeap + heap, "rw-p", "[heap]"},
                                      {kArena, kArena + arena, "rw-p", ""},
                                      {kArena + arena, kArena + 64 * kMiB, "---p", ""}};
  };
  tape.add_maps(100, lines(0x21000, 0x21000));
  auto next = lines(0x90000, 0x50000);
  next.push_back({0x7f50'0000'0000, 0x7f50'0004'1000, "rw-p", ""});
  tape.add_maps(900'000, next);
  const AddressSpace space = tape.space();
  expect_in_order(space);
  EXPECT_EQ(space.maps_us, 100u);
  EXPECT_EQ(range_at(space, kHeap).end, kHeap + 0x51000);
  EXPECT_EQ(range_at(space, kArena).committed, 0x41000u);
  EXPECT_EQ(range_at(space, 0x7f50'0000'0010).bytes(), 0x41000u);
  EXPECT_EQ(range_at(space, 0x7f60'0000'0010).begin, 0x7f60'0000'0000u);
  EXPECT_EQ(range_at(space, 0x7f60'0000'0010).end, 0x7f60'0001'1000u);
}

TEST(AddressSpace, WithoutTheKernelItIsGuessedFromModulesEventsAndBlocks) {
  Story story;
  story.make(kHeap + 0x2a0, 100).make(kHeap + 0x30000, 100).map(0x7f40'0000'0000, 0x4000);
  SpaceTape tape(story.events());
  tape.modules = {
      {"/usr/bin/server", {}, 0, 0x5555'5555'4000, 0x5555'5556'0000, 0, {{0x5555'5555'4000, 0x2000, 0, 5}}}};
  const AddressSpace space = tape.space();
  expect_in_order(space);
  EXPECT_FALSE(space.from_kernel);
  EXPECT_EQ(range_at(space, 0x5555'5555'4000).kind, RangeKind::Module);
  EXPECT_EQ(space.names[range_at(space, 0x5555'5555'4000).name], "/usr/bin/server");
  EXPECT_EQ(range_at(space, kHeap + 0x2a0).kind, RangeKind::MainHeap);
  EXPECT_EQ(range_at(space, kHeap + 0x30000).begin, kHeap);
  EXPECT_EQ(range_at(space, 0x7f40'0000'0000).event, 3u);
}

TEST(AddressSpace, NothingAtAllIsAnEmptySpace) {
  SpaceTape tape({});
  const AddressSpace space = tape.space();
  EXPECT_TRUE(space.ranges.empty());
  EXPECT_EQ(space.find(1), nullptr);
}

} // namespace
} // namespace heaptape
