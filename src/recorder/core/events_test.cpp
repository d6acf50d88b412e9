#include "recorder/core/events.h"

#include <gtest/gtest.h>

#include "recorder/core/test_memory.h"

namespace heaptape::recorder {
namespace {

// Records from this thread without stacks.
class EventsTest : public testing::Test {
protected:
  void SetUp() override { ASSERT_TRUE(memory_.begin()); }
  bool event(EventKind kind, std::uint64_t address) {
    return record(kind, address, 8, {0x401000, reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)), 0}, false);
  }
  // A collector that keeps up.
  void collect() { memory_.slot(0).taken.store(memory_.slot(0).reserved.load()); }

  TestMemory memory_{2, 128};
};

TEST_F(EventsTest, ABlockIsMadeSinceAMomentWhenItsEventCameAfterIt) {
  event(EventKind::Malloc, 0x1000);
  const Moment before = moment_now();
  EXPECT_FALSE(made_since(before, 0x1000));
  event(EventKind::Malloc, 0x2000);
  event(EventKind::Calloc, 0x3000);
  EXPECT_TRUE(made_since(before, 0x2000));
  EXPECT_TRUE(made_since(before, 0x3000));
  EXPECT_FALSE(made_since(before, 0x1000));
  EXPECT_FALSE(made_since(moment_now(), 0x2000));
}

TEST_F(EventsTest, ABlockThatWasReleasedAgainOrOnlyMappedIsNotMade) {
  const Moment before = moment_now();
  event(EventKind::Malloc, 0x2000);
  event(EventKind::Free, 0x2000);
  event(EventKind::MmapAnonymous, 0x3000);
  EXPECT_FALSE(made_since(before, 0x2000));
  EXPECT_FALSE(made_since(before, 0x3000));
}

TEST_F(EventsTest, AThreadsFirstEventIsSinceAMomentBeforeItsArrival) {
  const Moment before = moment_now();
  EXPECT_FALSE(made_since(before, 0x1000));
  event(EventKind::New, 0x1000);
  EXPECT_TRUE(made_since(before, 0x1000));
  EXPECT_FALSE(made_since(before, 0x2000));
}

TEST_F(EventsTest, WhatHappenedSinceIsFoundAlsoWhenTheRingHasGoneRound) {
  for (std::uint64_t i = 0; i < 300; ++i) {
    event(EventKind::Malloc, 0x1000 + i * 16);
    collect();
  }
  const Moment before = moment_now();
  event(EventKind::Malloc, 0x9000);
  EXPECT_TRUE(made_since(before, 0x9000));
  EXPECT_FALSE(made_since(before, 0x1000));
}

TEST_F(EventsTest, WhileABlockIsReleasedOnlyItsOwnReleasesAreSuppressed) {
  event(EventKind::Malloc, 0x1000);
  {
    const Suppressed suppressed(0x1000);
    EXPECT_FALSE(event(EventKind::Free, 0x1000));
    EXPECT_TRUE(event(EventKind::Free, 0x2000));
    EXPECT_TRUE(event(EventKind::Malloc, 0x1000));
    {
      const Suppressed everything;
      EXPECT_FALSE(event(EventKind::Malloc, 0x3000));
      EXPECT_TRUE(event(EventKind::Munmap, 0x4000));
    }
    EXPECT_TRUE(event(EventKind::Malloc, 0x3000));
  }
  EXPECT_TRUE(event(EventKind::Free, 0x1000));
}

TEST_F(EventsTest, ABlockThatIsReleasedWhileAnotherOneIsHasOneRelease) {
  const Suppressed outer(0x1000);
  event(EventKind::Malloc, 0x2000);
  {
    const Suppressed inner(0x2000);
    EXPECT_FALSE(event(EventKind::Free, 0x2000));
  }
  EXPECT_FALSE(event(EventKind::Free, 0x1000));
}

TEST_F(EventsTest, WhereEverythingIsSuppressedAReleaseInsideIsToo) {
  event(EventKind::Malloc, 0x1000);
  const Suppressed everything;
  {
    const Suppressed suppressed(0x1000);
    EXPECT_FALSE(event(EventKind::Free, 0x2000));
  }
  EXPECT_FALSE(event(EventKind::Free, 0x2000));
}

} // namespace
} // namespace heaptape::recorder
