#include "report/select/event_filter.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

Event event(std::uint64_t number, std::uint64_t time_us, EventKind kind = EventKind::Malloc, std::uint32_t thread = 1) {
  Event made;
  made.number = number;
  made.time_us = time_us;
  made.kind = kind;
  made.thread = ThreadId(thread);
  return made;
}

TEST(EventFilter, BothEndsAreIncluded) {
  EventFilter filter;
  filter.from = Position{false, 10};
  filter.to = Position{true, 500};
  EXPECT_FALSE(filter.accepts(event(9, 100)));
  EXPECT_TRUE(filter.accepts(event(10, 100)));
  EXPECT_TRUE(filter.accepts(event(20, 500)));
  EXPECT_FALSE(filter.is_past(event(20, 500)));
  EXPECT_TRUE(filter.is_past(event(21, 501)));
}

TEST(EventFilter, ThreadAndKindMustBothFit) {
  EventFilter filter;
  filter.threads = {ThreadId(2)};
  filter.kinds = KindSet::parse("free").value();
  EXPECT_TRUE(filter.accepts(event(1, 1, EventKind::Free, 2)));
  EXPECT_FALSE(filter.accepts(event(1, 1, EventKind::Free, 1)));
  EXPECT_FALSE(filter.accepts(event(1, 1, EventKind::Malloc, 2)));
}

TEST(PositionText, PlainNumberIsAnEvent) { EXPECT_EQ(parse_position("1234").value(), (Position{false, 1234})); }

TEST(PositionText, NumberWithAUnitIsATime) {
  EXPECT_EQ(parse_position("12.5s").value(), (Position{true, 12'500'000}));
  EXPECT_EQ(parse_position("200ms").value(), (Position{true, 200'000}));
  EXPECT_EQ(parse_position("300us").value(), (Position{true, 300}));
  EXPECT_EQ(parse_position("300µs").value(), (Position{true, 300}));
  EXPECT_EQ(parse_position("2min").value(), (Position{true, 120'000'000}));
  EXPECT_EQ(parse_position("0.1s").value(), (Position{true, 100'000}));
}

TEST(PositionText, NonsenseIsRefusedWithAnExample) {
  for (const char* text : {"", "s", "-1s", "1.5", "1h2", "5 s", "nan s", "99999999999999999999", "1e30s"}) {
    EXPECT_FALSE(parse_position(text)) << text;
  }
  EXPECT_NE(parse_position("x").error().sentence.find("12.5s"), std::string::npos);
}

} // namespace
} // namespace heaptape
