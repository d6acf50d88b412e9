// While recording is paused: which blocks stay off the tape, and what becomes of them afterwards.
#include "collector/events/event_builder_impl.h"

#include <gtest/gtest.h>

#include "collector/recording/fake_program.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kUs = 1000; // ticks of the fake program

TEST(EventBuilder, BlocksOfAPauseAreNotOnTheTapeNorAreTheirReleases) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread thread(program, 0, 100, 1);
  thread.malloc(10 * kUs, 0x1000, 16);
  thread.put(EventKind::PausedAlloc, 20 * kUs, 0x2000);
  thread.put(EventKind::PausedAlloc, 30 * kUs, 0x3000);
  thread.free(40 * kUs, 0x2000);
  thread.free(50 * kUs, 0x1000); // from before: its end is recorded
  thread.malloc(60 * kUs, 0x1000, 32);
  thread.free(70 * kUs, 0x3000); // after the pause
  thread.malloc(80 * kUs, 0x3000, 8);
  thread.free(90 * kUs, 0x3000);
  pipeline.round();
  std::vector<std::pair<EventKind, std::uint64_t>> seen;
  for (const Event& event : pipeline.events()) seen.emplace_back(event.kind, event.address);
  using enum EventKind;
  EXPECT_EQ(seen,
            (decltype(seen){{Malloc, 0x1000}, {Free, 0x1000}, {Malloc, 0x1000}, {Malloc, 0x3000}, {Free, 0x3000}}));
  EXPECT_EQ(pipeline.builder.model().totals().unknown_releases, 0u);
  EXPECT_EQ(pipeline.builder.paused_blocks(), 2u);
}

TEST(EventBuilder, ADoubleFreeOfABlockOfAPauseStillShows) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread thread(program, 0, 100, 1);
  thread.put(EventKind::PausedAlloc, 20 * kUs, 0x2000);
  thread.free(40 * kUs, 0x2000);
  thread.free(50 * kUs, 0x2000);
  pipeline.round();
  EXPECT_EQ(pipeline.events().size(), 1u);
  EXPECT_EQ(pipeline.builder.model().totals().unknown_releases, 1u);
}

TEST(EventBuilder, AReallocDuringAPauseFreesWhatIsOnTheTape) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread thread(program, 0, 100, 1);
  thread.malloc(10 * kUs, 0x1000, 16);
  thread.realloc_begin(20 * kUs, 0x1000);
  thread.put(EventKind::PausedRealloc, 30 * kUs, 0x2000);
  thread.realloc_begin(40 * kUs, 0x2000); // and once more: nothing of it is on the tape
  thread.put(EventKind::PausedRealloc, 50 * kUs, 0x3000);
  thread.free(60 * kUs, 0x3000);
  pipeline.round();
  ASSERT_EQ(pipeline.events().size(), 2u);
  const Event& event = pipeline.events()[1];
  EXPECT_EQ(event.kind, EventKind::Realloc);
  EXPECT_EQ(event.old_address, 0x1000u);
  EXPECT_EQ(event.address, 0u);
  EXPECT_EQ(pipeline.builder.model().totals().live_blocks, 0u);
  EXPECT_EQ(pipeline.builder.model().totals().unknown_releases, 0u);
}

TEST(EventBuilder, AReallocAfterAPauseMakesANewBlockOfOneThatIsNotOnTheTape) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread thread(program, 0, 100, 1);
  thread.put(EventKind::PausedAlloc, 10 * kUs, 0x1000);
  thread.realloc_begin(20 * kUs, 0x1000);
  thread.put(EventKind::ReallocFailed, 30 * kUs, 0x1000); // the old block is still what it was
  thread.realloc_begin(40 * kUs, 0x1000);
  thread.realloc_end(50 * kUs, 0x1000, 64);
  pipeline.round();
  ASSERT_EQ(pipeline.events().size(), 1u);
  EXPECT_EQ(pipeline.events()[0].old_address, 0u);
  EXPECT_EQ(pipeline.events()[0].size, 64u);
  EXPECT_EQ(pipeline.builder.model().totals().live_bytes, 64u);
  EXPECT_EQ(pipeline.builder.model().totals().unknown_releases, 0u);
}

TEST(EventBuilder, AnAddressThatLeavesAPauseByALateFreeOfAnotherThreadIsFreeOnce) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread first(program, 0, 100, 1), second(program, 1, 101, 1);
  first.put(EventKind::PausedAlloc, 10 * kUs, 0x1000);
  second.malloc(20 * kUs, 0x1000, 32);
  first.free(21 * kUs, 0x1000); // happened before, stamped after
  second.free(30 * kUs, 0x1000);
  pipeline.finish();
  ASSERT_EQ(pipeline.events().size(), 2u);
  EXPECT_EQ(pipeline.events()[0].kind, EventKind::Malloc);
  EXPECT_EQ(pipeline.events()[1].time_us, 30u);
}

} // namespace
} // namespace heaptape
