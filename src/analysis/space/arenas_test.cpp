#include "analysis/space/arenas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "analysis/space/space_for_test.h"
#include "base/check.h"

namespace heaptape {
namespace {

using test::MapLine;
using test::SpaceTape;
using test::Story;

constexpr std::uint64_t kHeap = 0x5555'6000'0000;
constexpr std::uint64_t kArena = 0x7f10'4000'0000; // aligned to 64 MiB
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

std::vector<MapLine> arena_lines(std::uint64_t at, std::uint64_t open) {
  return {{at, at + open, "rw-p", ""}, {at + open, at + 64 * kMiB, "---p", ""}};
}

std::vector<Arena> arenas_of(const SpaceTape& tape) {
  const TapeReader reader = tape.open();
  const HeapState state = tape.state();
  return arenas_at(reader, state, address_space_at(reader, state));
}

const Arena& only(const std::vector<Arena>& arenas, ArenaKind kind) {
  const Arena* found = nullptr;
  for (const Arena& arena : arenas) {
    if (arena.kind != kind) continue;
    HT_CHECK(found == nullptr);
    found = &arena;
  }
  HT_CHECK(found != nullptr);
  return *found;
}

TEST(Arenas, TheFiguresOfAHeapAreThoseOfItsLiveBlocks) {
  Story story;
  story.make(kHeap + 0x010, 0x100);   // page 0
  story.make(kHeap + 0x200, 0x10);    // page 0
  story.make(kHeap + 0x1ff0, 0x20);   // 16 bytes on page 1, 16 on page 2
  story.make(kHeap + 0x5000, 0x2800); // pages 5 to 7
  story.make(kHeap + 0x9000, 50).end(kHeap + 0x9000);
  SpaceTape tape(story.events());
  tape.add_maps(5, {{kHeap, kHeap + 0x21000, "rw-p", "[heap]"}});
  const auto arenas = arenas_of(tape);
  ASSERT_EQ(arenas.size(), 1u);
  const Arena& heap = arenas[0];
  EXPECT_EQ(heap.kind, ArenaKind::Main);
  EXPECT_EQ(heap.live, (Cost{0x100 + 0x10 + 0x20 + 0x2800, 4}));
  EXPECT_EQ(heap.committed, 0x21000u);
  EXPECT_EQ(heap.reserved, 0x21000u);
  EXPECT_EQ(heap.span, 0x7800u - 0x10u);
  EXPECT_EQ(heap.largest_gap, 0x5000u - 0x2010u);
  EXPECT_EQ(heap.gap_begin, kHeap + 0x2010);
  EXPECT_EQ(heap.pages, 6u);
  EXPECT_EQ(heap.little_pages, 2u);
  EXPECT_NEAR(heap.fragmentation(), 1 - 10544.0 / 30704.0, 1e-9);
}

TEST(Arenas, AThreadsHomeIsWhereItsLatestBlockLies) {
  Story story;
  story.by(1, 1).make(kHeap + 0x10, 100);
  story.by(2, 1).make(kHeap + 0x100, 100); // before it had an arena of its own
  story.by(2, 1).make(kArena + 0x8b0, 1000);
  story.by(2, 1).make(0x7f20'0000'0010, 0x80000); // large blocks are nobody's home
  SpaceTape tape(story.events());
  std::vector<MapLine> lines{{kHeap, kHeap + 0x21000, "rw-p", "[heap]"}};
  for (const MapLine& line : arena_lines(kArena, 0x21000)) lines.push_back(line);
  lines.push_back({0x7f20'0000'0000, 0x7f20'0008'1000, "rw-p", ""});
  tape.add_maps(5, lines);
  const auto arenas = arenas_of(tape);
  ASSERT_EQ(arenas.size(), 3u);
  const Arena& heap = only(arenas, ArenaKind::Main);
  ASSERT_EQ(heap.threads.size(), 2u);
  EXPECT_EQ(heap.threads[0].thread, ThreadId(1));
  EXPECT_TRUE(heap.threads[0].home);
  EXPECT_FALSE(heap.threads[1].home);
  const Arena& own = only(arenas, ArenaKind::Thread);
  EXPECT_EQ(own.committed, 0x21000u);
  EXPECT_EQ(own.reserved, 64 * kMiB);
  ASSERT_EQ(own.threads.size(), 1u);
  EXPECT_TRUE(own.threads[0].home);
  EXPECT_EQ(own.threads[0].live, (Cost{1000, 1}));
  const Arena& large = only(arenas, ArenaKind::LargeBlocks);
  EXPECT_EQ(large.live, (Cost{0x80000, 1}));
  EXPECT_EQ(large.committed, 0x81000u);
  EXPECT_FALSE(large.threads[0].home);
}

TEST(Arenas, HeapsOfOneThreadAreOneArenaAndAnEmptyArenaIsThereToo) {
  Story story;
  story.by(3, 1).make(kArena + 0x8b0, 5000).make(kArena + 64 * kMiB + 0x30, 700);
  SpaceTape tape(story.events());
  std::vector<MapLine> lines = arena_lines(kArena, 0x21000);
  for (const std::uint64_t at : {kArena + 64 * kMiB, kArena + 128 * kMiB})
    for (const MapLine& line : arena_lines(at, 0x1000)) lines.push_back(line);
  tape.add_maps(5, lines);
  const auto arenas = arenas_of(tape);
  ASSERT_EQ(arenas.size(), 2u);
  EXPECT_EQ(arenas[0].ranges.size(), 2u);
  EXPECT_EQ(arenas[0].live, (Cost{5700, 2}));
  EXPECT_EQ(arenas[0].reserved, 128 * kMiB);
  EXPECT_EQ(arenas[0].span, 5700u);
  EXPECT_EQ(arenas[1].live, Cost());
  EXPECT_EQ(arenas[1].fragmentation(), 0);
}

TEST(Arenas, AnotherAllocatorsMemoryIsOneArena) {
  Story story;
  story.make(0x7f20'0000'0040, 64).make(0x7f20'0010'0040, 0x80000);
  SpaceTape tape(story.events());
  tape.modules = {{"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", {}, 0, 0x7f30'0000'0000, 0x7f30'0000'1000, 0, {}}};
  tape.add_maps(5, {{0x7f20'0000'0000, 0x7f20'0020'0000, "rw-p", ""}});
  EXPECT_EQ(allocator_of(tape.modules), Allocator::Jemalloc);
  const auto arenas = arenas_of(tape);
  ASSERT_EQ(arenas.size(), 1u);
  EXPECT_EQ(arenas[0].kind, ArenaKind::Regions);
  EXPECT_EQ(arenas[0].committed, 2 * kMiB);
}

TEST(Arenas, BlocksInMemoryOfOthersAreElsewhere) {
  Story story;
  story.map(0x7f20'0000'0000, 0x10000).make(0x7f20'0000'0100, 64); // a pool of the program's own
  SpaceTape tape(story.events());
  const auto arenas = arenas_of(tape);
  ASSERT_EQ(arenas.size(), 1u);
  EXPECT_EQ(arenas[0].kind, ArenaKind::Elsewhere);
  EXPECT_EQ(arenas[0].live, (Cost{64, 1}));
  EXPECT_EQ(arenas[0].committed, 0u);
}

// Sums over all arenas, against a count of every byte.
TEST(Arenas, PagesAreThoseThatHoldALiveByte) {
  Story story;
  std::uint64_t at = kHeap, random = 1;
  std::map<std::uint64_t, std::uint64_t> bytes_of_page;
  Cost live;
  for (int i = 0; i < 2000; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    at += 16 * (1 + (random >> 33) % ((random >> 20 & 7) == 0 ? 3000 : 20));
    const std::uint64_t size = 1 + (random >> 40) % ((random >> 25 & 31) == 0 ? 20000 : 200);
    story.make(at, size);
    live += Cost::of(size);
    for (std::uint64_t byte = at; byte < at + size; ++byte) ++bytes_of_page[byte / 4096];
    at = (at + size + 15) & ~std::uint64_t{15};
  }
  SpaceTape tape(story.events());
  tape.add_maps(5, {{kHeap, kHeap + 0x21000, "rw-p", "[heap]"}});
  const auto arenas = arenas_of(tape);
  ASSERT_EQ(arenas.size(), 1u);
  EXPECT_EQ(arenas[0].live, live);
  EXPECT_EQ(arenas[0].pages, bytes_of_page.size());
  EXPECT_EQ(arenas[0].little_pages,
            static_cast<std::uint64_t>(std::count_if(bytes_of_page.begin(), bytes_of_page.end(),
                                                     [](const auto& page) { return page.second < kLittle; })));
}

TEST(Arenas, WhatIsLiveInARangeIsCountedWhereItBegins) {
  Story story;
  story.make(kHeap + 0x10, 100).make(kHeap + 0x200, 300).make(0x7f20'0000'0010, 0x80000);
  SpaceTape tape(story.events());
  tape.add_maps(5, {{kHeap, kHeap + 0x21000, "rw-p", "[heap]"}, {0x7f20'0000'0000, 0x7f20'0008'1000, "rw-p", ""}});
  const TapeReader reader = tape.open();
  const HeapState state = tape.state();
  const AddressSpace space = address_space_at(reader, state);
  EXPECT_EQ(live_by_range(state, space), (std::vector<Cost>{{400, 2}, {0x80000, 1}}));
}

} // namespace
} // namespace heaptape
