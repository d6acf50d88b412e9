#include "tape/read_ahead.h"

#include <gtest/gtest.h>

#include "tape/sample_tape.h"

namespace heaptape {
namespace {

TEST(ReadAhead, GivesTheEventsOfTheCursor) {
  const SampleTape sample(50'000);
  const auto bytes = sample.bytes(7'000);
  const auto reader = TapeReader::from_bytes(bytes, "sample.tape");
  ASSERT_TRUE(reader.ok());
  for (const std::uint64_t first : {1u, 6'999u, 49'990u, 60'000u}) {
    ReadAhead events(reader.value().events(first));
    std::uint64_t number = first;
    for (auto run = events.next_run(); !run.empty(); run = events.next_run()) {
      for (const Event& event : run) ASSERT_EQ(event, sample.events[number++ - 1]);
    }
    EXPECT_EQ(number, std::max<std::uint64_t>(first, 50'001));
    EXPECT_TRUE(events.next_run().empty());
    EXPECT_EQ(events.cursor().skipped_chunks(), 0u);
  }
}

TEST(ReadAhead, MayBeGivenUpAtAnyMoment) {
  const auto bytes = SampleTape(50'000).bytes(7'000);
  const auto reader = TapeReader::from_bytes(bytes, "sample.tape");
  ASSERT_TRUE(reader.ok());
  for (int runs = 0; runs < 60; runs += 4) {
    ReadAhead events(reader.value().events());
    for (int i = 0; i < runs; ++i) (void)events.next_run();
  }
}

TEST(ReadAhead, GivesNothingMoreAfterStop) {
  const SampleTape sample(50'000);
  const auto bytes = sample.bytes(7'000);
  const auto reader = TapeReader::from_bytes(bytes, "sample.tape");
  ASSERT_TRUE(reader.ok());
  ReadAhead events(reader.value().events());
  const auto run = events.next_run();
  ASSERT_FALSE(run.empty());
  events.stop();
  EXPECT_EQ(run[0], sample.events[0]);
  EXPECT_TRUE(events.next_run().empty());
  EXPECT_EQ(events.cursor().skipped_chunks(), 0u);
}

TEST(ReadAhead, SaysWhatWasDamaged) {
  auto bytes = SampleTape(1000).bytes(100);
  const auto whole = TapeReader::from_bytes(bytes, "sample.tape");
  ASSERT_TRUE(whole.ok());
  const EventChunkInfo& chunk = whole.value().event_chunks()[3];
  bytes[chunk.offset + chunk.bytes - 1] ^= std::byte{1};
  ReadAhead events(whole.value().events());
  std::uint64_t count = 0;
  for (auto run = events.next_run(); !run.empty(); run = events.next_run()) count += run.size();
  EXPECT_EQ(count, 900u);
  EXPECT_EQ(events.cursor().skipped_chunks(), 1u);
}

} // namespace
} // namespace heaptape
