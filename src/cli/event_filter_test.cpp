#include "cli/event_filter.h"

#include <gtest/gtest.h>

namespace heaptape::cli {
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

} // namespace
} // namespace heaptape::cli
