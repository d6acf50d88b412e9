#include "tape/parallel_events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "tape/sample_tape.h"

namespace heaptape {
namespace {

using Events = std::vector<Event>;

struct Gathered {
  Events events;
  EventsPass pass;
};

Gathered gather(const TapeReader& tape, const ParallelEvents& options) {
  Gathered gathered;
  gathered.pass = parallel_events<Events>(
      tape, options,
      [](Events& part, std::span<const Event> events) { part.insert(part.end(), events.begin(), events.end()); },
      [&](Events& part) { gathered.events.insert(gathered.events.end(), part.begin(), part.end()); });
  return gathered;
}

TEST(ParallelEvents, GivesTheEventsInTheOrderOfTheTape) {
  const SampleTape sample(50'000);
  const auto bytes = sample.bytes(700);
  const auto reader = TapeReader::from_bytes(bytes, "sample.tape");
  ASSERT_TRUE(reader.ok());
  for (const unsigned threads : {0u, 1u, 2u, 8u, 200u}) {
    const Gathered gathered = gather(reader.value(), {.threads = threads});
    EXPECT_EQ(gathered.events, sample.events);
    EXPECT_FALSE(gathered.pass.stopped);
    EXPECT_TRUE(gathered.pass.damage.empty());
  }
}

TEST(ParallelEvents, GivesOnlyTheEventsThatAreWanted) {
  const SampleTape sample(5'000);
  const auto bytes = sample.bytes(700);
  const auto reader = TapeReader::from_bytes(bytes, "sample.tape");
  ASSERT_TRUE(reader.ok());
  for (const std::uint64_t first : {0u, 1u, 2u, 700u, 701u, 702u, 4'999u, 5'000u, 5'001u}) {
    for (const std::uint64_t last : {0u, 1u, 699u, 700u, 701u, 1'500u, 4'999u, 5'000u, 9'000u}) {
      Events wanted;
      for (const Event& event : sample.events)
        if (event.number >= first && event.number <= last) wanted.push_back(event);
      EXPECT_EQ(gather(reader.value(), {.first = first, .last = last, .threads = 3}).events, wanted);
    }
  }
}

TEST(ParallelEvents, ATapeWithoutEventsGivesNone) {
  const auto bytes = SampleTape(0).bytes(700);
  const auto reader = TapeReader::from_bytes(bytes, "sample.tape");
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(gather(reader.value(), {.threads = 3}).events.empty());
}

TEST(ParallelEvents, SaysWhichChunksAreDamagedInTheirOrder) {
  const SampleTape sample(5'000);
  auto bytes = sample.bytes(100);
  const auto reader = TapeReader::from_bytes(bytes, "sample.tape");
  ASSERT_TRUE(reader.ok());
  const auto& chunks = reader.value().event_chunks();
  for (const std::size_t chunk : {3u, 17u, 18u}) bytes[chunks[chunk].offset + chunks[chunk].bytes - 1] ^= std::byte{1};
  const Gathered gathered = gather(reader.value(), {.threads = 4});
  EXPECT_EQ(gathered.events.size(), 4'700u);
  ASSERT_EQ(gathered.pass.damage.size(), 3u);
  EXPECT_EQ(gathered.pass.damage[0].offset, chunks[3].offset);
  EXPECT_EQ(gathered.pass.damage[1].offset, chunks[17].offset);
  EXPECT_EQ(gathered.pass.damage[2].offset, chunks[18].offset);
}

TEST(ParallelEvents, EndsWhenAskedToStop) {
  const auto bytes = SampleTape(50'000).bytes(100);
  const auto reader = TapeReader::from_bytes(bytes, "sample.tape");
  ASSERT_TRUE(reader.ok());
  int done = 0;
  const auto pass = parallel_events<int>(
      reader.value(), {.threads = 4, .stop = [&] { return done == 3; }}, [](int&, std::span<const Event>) {},
      [&](int&) {
        ++done;
        if (done == 3) std::this_thread::sleep_for(std::chrono::milliseconds(30)); // the next question is due
      });
  EXPECT_TRUE(pass.stopped);
  EXPECT_EQ(done, 3);
}

// Counts how many of it hold anything at a time.
struct CountedPart {
  static inline std::atomic<int> used = 0;
  bool counts = false;
  CountedPart() = default;
  CountedPart(const CountedPart&) = delete;
  CountedPart& operator=(CountedPart&& other) {
    if (counts) --used;
    counts = std::exchange(other.counts, false);
    return *this;
  }
};

TEST(ParallelEvents, WorkersWaitForASlowConsumer) {
  const auto bytes = SampleTape(20'000).bytes(100);
  const auto reader = TapeReader::from_bytes(bytes, "sample.tape");
  ASSERT_TRUE(reader.ok());
  int most = 0;
  const auto pass = parallel_events<CountedPart>(
      reader.value(), {.threads = 2},
      [](CountedPart& part, std::span<const Event>) {
        if (!std::exchange(part.counts, true)) ++CountedPart::used;
      },
      [&](CountedPart&) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        most = std::max<int>(most, CountedPart::used);
      });
  EXPECT_FALSE(pass.stopped);
  EXPECT_GT(most, 0);
  EXPECT_LE(most, 8);
  EXPECT_EQ(CountedPart::used, 0);
}

} // namespace
} // namespace heaptape
