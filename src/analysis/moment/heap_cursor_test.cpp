#include "analysis/moment/heap_cursor.h"

#include <gtest/gtest.h>

#include "analysis/index/naive_findings_for_test.h"
#include "analysis/index/story_for_test.h"
#include "analysis/index/tape_for_test.h"
#include "analysis/moment/event_search.h"

namespace heaptape {
namespace {

using test::SmallTape;
using test::Story;

TEST(HeapCursor, GoesEventByEventFromWhereItStands) {
  const SmallTape file(Story().make(0x1000, 10).make(0x2000, 20).end(0x1000).events(), 5, 2);
  const TapeReader tape = file.open();
  const Index index = build_index(tape);
  HeapCursor cursor(tape, index);
  EXPECT_EQ(cursor.event(), 0u);
  cursor.seek_event(1);
  EXPECT_EQ(cursor.totals().live_bytes, 10u);
  ASSERT_NE(cursor.step(), nullptr);
  EXPECT_EQ(cursor.totals().live_bytes, 30u);
  EXPECT_EQ(cursor.step()->kind, EventKind::Free);
  EXPECT_EQ(cursor.totals().live_bytes, 20u);
  EXPECT_EQ(cursor.step(), nullptr);
  cursor.seek_event(0);
  EXPECT_EQ(cursor.totals(), HeapTotals{});
  cursor.seek_event(1'000'000);
  EXPECT_EQ(cursor.event(), 3u);
}

TEST(HeapCursor, FindsTheBlockAroundAnAddress) {
  const SmallTape file(Story().make(0x1000, 0x100).make(0x1200, 0).make(0x1300, 1).events(), 5, 10);
  const TapeReader tape = file.open();
  const Index index = build_index(tape);
  HeapCursor cursor(tape, index);
  cursor.seek_event(3);
  EXPECT_EQ(cursor.find_around(0xfff), std::nullopt);
  EXPECT_EQ(cursor.find_around(0x1000)->event, 1u);
  EXPECT_EQ(cursor.find_around(0x10ff)->event, 1u);
  EXPECT_EQ(cursor.find_around(0x1100), std::nullopt);
  EXPECT_EQ(cursor.find_around(0x1200)->event, 2u); // a zero-byte block still owns its address
  EXPECT_EQ(cursor.find_around(0x1201), std::nullopt);
  EXPECT_EQ(cursor.find_around(~std::uint64_t{0}), std::nullopt);
  cursor.seek_event(1);
  EXPECT_EQ(cursor.find_around(0x1300), std::nullopt); // not yet
}

TEST(HeapCursor, FindsTheBlocksBesideAnAddress) {
  const SmallTape file(Story().make(0x1000, 0x100).make(0x1200, 0).make(0x1300, 1).events(), 5, 10);
  const TapeReader tape = file.open();
  const Index index = build_index(tape);
  HeapCursor cursor(tape, index);
  cursor.seek_event(3);
  EXPECT_EQ(cursor.block_before(0), std::nullopt);
  EXPECT_EQ(cursor.block_before(0x1000), std::nullopt); // begins there, not before
  EXPECT_EQ(cursor.block_before(0x1001)->event, 1u);
  EXPECT_EQ(cursor.block_before(~std::uint64_t{0})->event, 3u);
  EXPECT_EQ(cursor.block_after(0)->event, 1u);
  EXPECT_EQ(cursor.block_after(0x1200)->event, 3u);
  EXPECT_EQ(cursor.block_after(0x1300), std::nullopt);
}

TEST(HeapCursor, ADamagedKeyframeOnlyMakesTheWayLonger) {
  const auto events = test::wild_events(9, 2000);
  const SmallTape file(events, 30, 64);
  ASSERT_TRUE(append_index(file.path(), {.events_apart = 300, .sizes_apart = 0}).ok());
  std::vector<std::byte> bytes = file.bytes();
  {
    const TapeReader tape = file.open();
    const FoundIndex found = load_index(tape);
    ASSERT_GT(found.index.keyframes.size(), 4u);
    for (std::size_t i = 2; i < found.index.keyframes.size(); ++i)
      bytes[found.index.keyframes[i].parts.at(0) + 40] ^= std::byte{1};
  }
  file.write(bytes);
  const TapeReader tape = file.open();
  const FoundIndex found = load_index(tape);
  ASSERT_EQ(found.state, IndexState::Good); // the findings are whole
  HeapCursor cursor(tape, found.index);
  const test::NaiveFindings naive(events);
  for (const std::uint64_t event : {1999u, 640u, 1500u, 10u}) {
    cursor.seek_event(event);
    EXPECT_EQ(cursor.totals().live_bytes, naive.live_bytes_after(event)) << event;
    EXPECT_EQ(cursor.totals().live_blocks, naive.live_blocks_after(event)) << event;
  }
}

TEST(HeapCursor, AFarSeekArrivesWhereSmallStepsDo) {
  const SmallTape file(test::wild_events(3, 300'000), 30, 50'000);
  const TapeReader tape = file.open();
  const Index index = build_index(tape, {.events_apart = 1'000'000}); // no keyframe on the way
  ASSERT_TRUE(index.keyframes.empty());
  HeapCursor far(tape, index), near(tape, index);
  for (const std::uint64_t event : {140'000u, 290'000u}) {
    far.seek_event(event);
    while (near.event() < event) ASSERT_NE(near.step(), nullptr);
    EXPECT_EQ(far.event(), event);
    EXPECT_EQ(far.totals(), near.totals());
    EXPECT_EQ(far.state().blocks().size(), near.state().blocks().size());
    far.state().blocks().for_each([&](const Block& block) { EXPECT_EQ(near.find(block.address), block); });
    near.step();
    EXPECT_EQ(*far.step(), *tape.events(event + 1).next());
  }
  far.seek_event(0);
  far.seek_event(~std::uint64_t{0});
  EXPECT_EQ(far.event(), 300'000u);
  EXPECT_EQ(far.step(), nullptr);
}

TEST(HeapCursor, AFarSeekSaysWhatWasDamagedOnItsWay) {
  const SmallTape file(test::wild_events(4, 200'000), 30, 10'000);
  std::vector<std::byte> bytes = file.bytes();
  const std::vector<EventChunkInfo> blocks = file.open().event_chunks();
  for (const std::size_t block : {2u, 16u}) bytes[blocks[block].offset + blocks[block].bytes - 1] ^= std::byte{1};
  file.write(bytes);
  const TapeReader tape = file.open();
  const Index index = build_index(tape, {.events_apart = 1'000'000});
  HeapCursor cursor(tape, index);
  cursor.seek_event(155'000); // decoding goes on beyond it
  ASSERT_EQ(cursor.damage().size(), 1u);
  EXPECT_EQ(cursor.damage()[0].offset, blocks[2].offset);
  cursor.seek_event(200'000);
  ASSERT_EQ(cursor.damage().size(), 2u);
  EXPECT_EQ(cursor.damage()[1].offset, blocks[16].offset);
  cursor.seek_event(15'000);
  EXPECT_TRUE(cursor.damage().empty());
}

TEST(HeapCursor, SeekingToATimeStandsAfterAllEventsOfThatTime) {
  std::vector<Event> events = Story().make(0x1000, 1).make(0x2000, 2).make(0x3000, 4).events();
  events[1].time_us = events[2].time_us = 10;
  const SmallTape file(events, 5, 2);
  const TapeReader tape = file.open();
  const Index index = build_index(tape);
  HeapCursor cursor(tape, index);
  cursor.seek_event(last_event_until(tape, 9));
  EXPECT_EQ(cursor.event(), 0u);
  cursor.seek_event(last_event_until(tape, 10));
  EXPECT_EQ(cursor.event(), 3u);
  EXPECT_EQ(cursor.totals().live_bytes, 7u);
}

} // namespace
} // namespace heaptape
