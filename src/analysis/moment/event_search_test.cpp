#include "analysis/moment/event_search.h"

#include <gtest/gtest.h>

#include "analysis/index/naive_findings_for_test.h"
#include "analysis/index/tape_for_test.h"

namespace heaptape {
namespace {

TEST(EventSearch, FindsTheSameAsALookAtEveryEvent) {
  const auto events = test::wild_events(3, 3000);
  const test::SmallTape file(events, 300, 100);
  const TapeReader tape = file.open();
  std::mt19937_64 random(5);
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t from = random() % 3100, size = random() % 5000;
    const auto accept = [&](const Event& event) { return event.size > size; };
    std::optional<Event> next, previous;
    for (const Event& event : events) {
      if (!accept(event)) continue;
      if (event.number >= from && !next) next = event;
      if (event.number <= from) previous = event;
    }
    EXPECT_EQ(find_first_event(tape, {.accept = accept, .first = from}), next);
    EXPECT_EQ(find_last_event(tape, {.accept = accept, .last = from}), previous);
  }
}

TEST(EventSearch, StopsWhenAsked) {
  const test::SmallTape file(test::wild_events(3, 500), 300, 100);
  const auto never = [](const Event&) { return false; };
  int asked = 0;
  const auto stop = [&] { return ++asked == 2; };
  EXPECT_EQ(find_last_event(file.open(), {.accept = never, .should_stop = stop}), std::nullopt);
  EXPECT_EQ(asked, 2);
}

TEST(EventSearch, EventsAreFoundByNumber) {
  const auto events = test::wild_events(4, 500);
  const test::SmallTape file(events, 300, 100);
  const TapeReader tape = file.open();
  EXPECT_EQ(event_numbered(tape, 1), events[0]);
  EXPECT_EQ(event_numbered(tape, 321), events[320]);
  EXPECT_EQ(event_numbered(tape, 0), std::nullopt);
  EXPECT_EQ(event_numbered(tape, 501), std::nullopt);
}

} // namespace
} // namespace heaptape
