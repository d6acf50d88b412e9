#include "analysis/space/heap_cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "analysis/index/story_for_test.h"
#include "analysis/index/tape_for_test.h"
#include "analysis/space/used_before.h"

namespace heaptape {
namespace {

HeapState state_after(const std::vector<Event>& events) {
  HeapState state;
  for (const Event& event : events) state.apply(event);
  return state;
}

// Blocks of random sizes with random gaps, by eight stacks, some freed again.
test::Story random_story(std::mt19937_64& random, std::uint64_t begin, int blocks) {
  test::Story story;
  std::vector<std::uint64_t> addresses;
  std::uint64_t address = begin;
  for (int i = 0; i < blocks; ++i) {
    const std::uint64_t size = random() % 20 == 0 ? random() % 20000 : random() % 200;
    story.by(1, 1 + static_cast<std::uint32_t>(random() % 8)).make(address, size);
    addresses.push_back(address);
    address += std::max<std::uint64_t>(size, 1) + random() % 100;
  }
  std::shuffle(addresses.begin(), addresses.end(), random);
  for (int i = 0; i < blocks / 3; ++i) story.end(addresses[static_cast<std::size_t>(i)]);
  return story;
}

TEST(HeapCells, EqualACountByteByByte) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 30; ++round) {
    const HeapState state = state_after(random_story(random, 0x10000, 150).events());
    const std::vector<Block> blocks = blocks_by_address(state);
    // Also grids that begin and end within blocks.
    const CellGrid grid{0x10000 + random() % 3000, 1 + random() % 700, 1 + random() % 60};
    const std::vector<Cell> cells = heap_cells(blocks, state.owners(), grid);
    ASSERT_EQ(cells.size(), grid.cells);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::uint64_t begin = grid.address_of(i), end = begin + grid.cell_bytes;
      Cell expected;
      std::map<std::uint32_t, std::uint64_t> by_stack;
      bool any = false;
      for (const Block& block : blocks) {
        const bool starts = block.address >= begin && block.address < end;
        std::uint64_t here = 0;
        for (std::uint64_t byte = std::max(begin, block.address); byte < std::min(end, block.address + block.size);
             ++byte)
          ++here;
        if (!starts && here == 0) continue;
        expected.live_bytes += here;
        expected.blocks += starts;
        expected.largest = std::max(expected.largest, block.size);
        expected.oldest_us = any ? std::min(expected.oldest_us, block.time_us) : block.time_us;
        expected.youngest_us = std::max(expected.youngest_us, block.time_us);
        by_stack[state.owners()[block.owner].stack.value] += here;
        any = true;
      }
      std::uint64_t most = 0;
      for (const auto& [stack, bytes] : by_stack) {
        if (bytes > most) expected.stack = StackId(stack);
        most = std::max(most, bytes);
      }
      EXPECT_EQ(cells[i], expected) << "round " << round << " cell " << i;
    }
  }
}

TEST(HeapCells, EmptyBlockUsesItsCell) {
  const HeapState state = state_after(test::Story().make(0x1010, 0).events());
  const std::vector<Cell> cells = heap_cells(blocks_by_address(state), state.owners(), {0x1000, 16, 3});
  EXPECT_FALSE(cells[0].is_used());
  EXPECT_TRUE(cells[1].is_used());
  EXPECT_EQ(cells[1].live_bytes, 0u);
}

TEST(HeapCells, BlocksInAStretchReachIntoIt) {
  const HeapState state = state_after(test::Story().make(0x1000, 0x20).make(0x1020, 0x20).make(0x2000, 1).events());
  const std::vector<Block> blocks = blocks_by_address(state);
  EXPECT_EQ(blocks_in(blocks, 0x1010, 0x1021).size(), 2u);
  EXPECT_EQ(blocks_in(blocks, 0x1020, 0x2000).size(), 1u);
  EXPECT_EQ(blocks_in(blocks, 0x1040, 0x2000).size(), 0u);
  EXPECT_EQ(blocks_in(blocks, 0x3000, 0x4000).size(), 0u);
}

class UsedBeforeTest : public testing::Test {
protected:
  void check(const std::vector<Event>& events, std::uint64_t until) {
    const test::SmallTape file(events, 8, 20);
    const TapeReader tape = file.open();
    const Index index = build_index(tape);
    const std::vector<CellGrid> grids{{0x8000, 256, 20}, {0x10000, 100, 50}, {0x20000, 64, 10}};
    const UsedBefore used = used_before(tape, index, grids, {.until = until});
    EXPECT_TRUE(used.exact);
    ASSERT_EQ(used.cells.size(), grids.size());
    for (std::size_t g = 0; g < grids.size(); ++g) {
      for (std::size_t i = 0; i < grids[g].cells; ++i) {
        const std::uint64_t begin = grids[g].address_of(i), end = begin + grids[g].cell_bytes;
        const bool expected = std::any_of(events.begin(), events.end(), [&](const Event& event) {
          return event.number <= until && is_allocation(event.kind) && event.address < end &&
                 event.address + std::max<std::uint64_t>(event.size, 1) > begin;
        });
        EXPECT_EQ(used.cells[g][i] != 0, expected) << g << " " << i;
      }
    }
  }
};

TEST_F(UsedBeforeTest, CellsThatEverHeldABlockAreMarked) {
  std::mt19937_64 random(2);
  const test::Story story = random_story(random, 0xf000, 60);
  check(story.events(), story.events().size());
  check(story.events(), 10);
  check(story.events(), 0);
}

TEST_F(UsedBeforeTest, BlockOverSeveralGridsMarksAll) {
  check(test::Story().make(0x8100, 0x18100).end(0x8100).events(), 2);
}

TEST_F(UsedBeforeTest, LongTapeIsJudgedByItsKeyframesAndSaysSo) {
  test::Story story;
  story.make(0x1000, 64).make(0x1100, 64).end(0x1000).make(0x1200, 64).end(0x1200);
  const test::SmallTape file(story.events(), 1, 1);
  const TapeReader tape = file.open();
  const Index index = build_index(tape, {.events_apart = 1, .sizes_apart = 0});
  ASSERT_GE(index.keyframes.size(), 2u);
  const std::vector<CellGrid> grids{{0x1000, 0x100, 4}};
  const UsedBefore used = used_before(tape, index, grids, {.until = 5, .most_events = 0});
  EXPECT_FALSE(used.exact);
  EXPECT_EQ(used.cells[0][1], 1); // live at every keyframe
  EXPECT_EQ(used.cells[0][3], 0); // never used
}

} // namespace
} // namespace heaptape
