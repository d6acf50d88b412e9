#include "analysis/space/heap_over_time.h"

#include <gtest/gtest.h>

#include <random>

#include "analysis/index/story_for_test.h"
#include "analysis/index/tape_for_test.h"

namespace heaptape {
namespace {

Block block(std::uint64_t address, std::uint64_t size) { return {address, size, 1, 0, 0}; }

// What the picture says of one cell, 0 where there is nothing.
std::uint64_t mean_at(const HeapOverTime& picture, std::uint64_t address, std::size_t column) {
  for (const TimedStrip& strip : picture.strips)
    if (address >= strip.begin && address < strip.end) return strip.mean_bytes[column];
  return 0;
}

TEST(HeapOverTime, BlockCountsForTheTimeItLives) {
  OverTimeBuilder builder(100, {.columns = 10, .most_rows = 100, .least_cell_bytes = 64});
  builder.set_moment(20);
  builder.begins(block(0x1000, 64));
  builder.set_moment(50);
  builder.ends(block(0x1000, 64));
  const HeapOverTime picture = builder.finish();
  ASSERT_EQ(picture.strips.size(), 1u);
  EXPECT_EQ(picture.strips[0].begin, 0x1000u);
  EXPECT_EQ(picture.strips[0].end, 0x1040u);
  EXPECT_EQ(picture.strips[0].mean_bytes, (std::vector<std::uint64_t>{0, 0, 64, 64, 64, 0, 0, 0, 0, 0}));
}

TEST(HeapOverTime, BlockOfHalfAColumnIsHalfAsFull) {
  OverTimeBuilder builder(100, {.columns = 10, .most_rows = 100, .least_cell_bytes = 64});
  builder.set_moment(25);
  builder.begins(block(0x1000, 32));
  builder.set_moment(30);
  builder.ends(block(0x1000, 32));
  EXPECT_EQ(mean_at(builder.finish(), 0x1000, 2), 16u);
}

TEST(HeapOverTime, HugeBlockIsOneStrip) {
  OverTimeBuilder builder(100, {.columns = 4, .most_rows = 100, .least_cell_bytes = 64});
  builder.begins(block(0x1000, std::uint64_t{1} << 40));
  const HeapOverTime picture = builder.finish();
  ASSERT_EQ(picture.strips.size(), 1u);
  EXPECT_EQ(picture.strips[0].end - picture.strips[0].begin, std::uint64_t{1} << 40);
  EXPECT_EQ(picture.strips[0].mean_bytes[3], 64u);
}

TEST(HeapOverTime, JoinedCellsHoldWhatTheirHalvesHeld) {
  std::mt19937_64 random(4);
  struct Life {
    Block of;
    std::uint64_t from, to;
  };
  std::vector<Life> lives;
  std::uint64_t address = 0x10000;
  while (lives.size() < 400) {
    const std::uint64_t size = 1 + random() % (random() % 10 == 0 ? 5000 : 100);
    const std::uint64_t from = random() % 1000, to = from + random() % (1000 - from);
    lives.push_back({block(address, size), from, to});
    address += size + random() % 300;
  }
  OverTimeBuilder builder(1024, {.columns = 8, .most_rows = 60, .least_cell_bytes = 64});
  for (std::uint64_t now = 0; now <= 1000; ++now) {
    builder.set_moment(now);
    for (const Life& life : lives) {
      if (life.from == now) builder.begins(life.of);
      if (life.to == now) builder.ends(life.of);
    }
  }
  const HeapOverTime picture = builder.finish();
  ASSERT_GT(picture.cell_bytes, 64u);
  ASSERT_LE(picture.strips.size(), 60u);
  for (std::uint64_t cell = 0x10000 / picture.cell_bytes; cell <= address / picture.cell_bytes; ++cell) {
    const std::uint64_t begin = cell * picture.cell_bytes, end = begin + picture.cell_bytes;
    for (std::size_t column = 0; column < 8; ++column) {
      std::uint64_t sum = 0; // byte-moments in this column of 128 moments
      for (const Life& life : lives) {
        const std::uint64_t low = std::max(begin, life.of.address),
                            high = std::min(end, life.of.address + life.of.size);
        const std::uint64_t first = std::max<std::uint64_t>(life.from, column * 128);
        const std::uint64_t last = std::min<std::uint64_t>(life.to, column * 128 + 128);
        if (low < high && first < last) sum += (high - low) * (last - first);
      }
      EXPECT_EQ(mean_at(picture, begin, column), (sum + 127) / 128) << cell << " " << column;
    }
  }
}

TEST(HeapOverTime, StretchBeginsWithWhatWasLiveBefore) {
  test::Story story;
  story.make(0x1000, 64).make(0x2000, 64).end(0x1000).make(0x3000, 64); // at 10, 20, 30, 40 us
  const test::SmallTape file(story.events(), 1, 2);
  const TapeReader tape = file.open();
  const Index index = build_index(tape);
  AskOverTime ask{.after = 2, .until = 4, .from_us = 20, .to_us = 40};
  ask.size = {.columns = 2, .most_rows = 100, .least_cell_bytes = 64};
  const HeapOverTime picture = heap_over_time(tape, index, ask);
  EXPECT_TRUE(picture.whole);
  EXPECT_EQ(mean_at(picture, 0x1000, 0), 64u);
  EXPECT_EQ(mean_at(picture, 0x1000, 1), 0u);
  EXPECT_EQ(mean_at(picture, 0x2000, 1), 64u);
  EXPECT_EQ(mean_at(picture, 0x3000, 1), 0u); // made when the stretch ends

  ask = {.after = 0,
         .until = 4,
         .axis = TimeAxis::Events,
         .size = {.columns = 4, .most_rows = 100, .least_cell_bytes = 64}};
  const HeapOverTime by_event = heap_over_time(tape, index, ask);
  EXPECT_EQ(mean_at(by_event, 0x1000, 1), 64u);
  EXPECT_EQ(mean_at(by_event, 0x1000, 2), 0u);
  EXPECT_EQ(mean_at(by_event, 0x3000, 2), 0u);
  EXPECT_EQ(mean_at(by_event, 0x3000, 3), 64u);
}

TEST(HeapOverTime, StopsWhenAskedToAndSaysSo) {
  test::Story story;
  for (std::uint64_t i = 1; i < 100; ++i) story.make(0x1000 * i, 64);
  const test::SmallTape file(story.events(), 1, 10);
  const TapeReader tape = file.open();
  const Index index = build_index(tape);
  const AskOverTime ask{.until = 99, .to_us = 990, .should_stop = [] { return true; }};
  EXPECT_FALSE(heap_over_time(tape, index, ask).whole);
}

} // namespace
} // namespace heaptape
