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

TEST(KindSet, NamesAndGroupsCanBeMixed) {
  const KindSet kinds = KindSet::parse("free,new[],map").value();
  EXPECT_TRUE(kinds.contains(EventKind::Free));
  EXPECT_TRUE(kinds.contains(EventKind::NewArray));
  EXPECT_TRUE(kinds.contains(EventKind::Munmap));
  EXPECT_FALSE(kinds.contains(EventKind::New));
  EXPECT_FALSE(kinds.contains(EventKind::Malloc));
}

TEST(KindSet, ReallocBothMakesAndEndsABlock) {
  EXPECT_TRUE(KindSet::parse("alloc").value().contains(EventKind::Realloc));
  EXPECT_TRUE(KindSet::parse("release").value().contains(EventKind::Realloc));
  EXPECT_FALSE(KindSet::parse("release").value().contains(EventKind::Calloc));
}

TEST(KindSet, UnknownNameIsAnsweredWithTheKnownOnes) {
  const Result<KindSet> kinds = KindSet::parse("malloc,mallloc");
  ASSERT_FALSE(kinds);
  EXPECT_NE(kinds.error().sentence.find("'mallloc'"), std::string::npos);
  EXPECT_NE(kinds.error().sentence.find("posix_memalign"), std::string::npos);
  EXPECT_FALSE(KindSet::parse("malloc,"));
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

TEST(FindThreads, TapesNumberComesBeforeTheKernels) {
  std::vector<Thread> threads(3);
  threads[0] = {.id = ThreadId(1), .tid = 2, .name = {}};
  threads[1] = {.id = ThreadId(2), .tid = 700, .name = {}};
  threads[2] = {.id = ThreadId(3), .tid = 700, .name = {}};
  EXPECT_EQ(find_threads(threads, "2").value(), (std::vector{ThreadId(2)}));
  EXPECT_EQ(find_threads(threads, "700").value(), (std::vector{ThreadId(2), ThreadId(3)}))
      << "the kernel reuses its ids";
  EXPECT_EQ(find_threads(threads, "9").error().code, ErrorCode::NotFound);
  EXPECT_EQ(find_threads(threads, "main").error().code, ErrorCode::Usage);
}

} // namespace
} // namespace heaptape::cli
