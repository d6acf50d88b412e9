#include "analysis/heap/heap_model.h"

#include <gtest/gtest.h>

#include <vector>

namespace heaptape {
namespace {

Event event_of(EventKind kind, std::uint64_t address, std::uint64_t size = 0, std::uint64_t number = 0) {
  Event event;
  event.kind = kind;
  event.address = address;
  event.size = size;
  event.number = number;
  return event;
}

class Story {
public:
  std::uint64_t make(std::uint64_t address, std::uint64_t size, EventKind kind = EventKind::Malloc) {
    return step(event_of(kind, address, size));
  }
  std::uint64_t end(std::uint64_t address, EventKind kind = EventKind::Free) { return step(event_of(kind, address)); }
  std::uint64_t move(std::uint64_t old_address, std::uint64_t address, std::uint64_t size, bool old_released = false) {
    Event event = event_of(EventKind::Realloc, address, size);
    event.old_address = old_address;
    event.old_released = old_released;
    return step(event);
  }
  std::uint64_t step(Event event) {
    event.number = ++number_;
    event.time_us = number_ * 10;
    return model.apply(event);
  }
  const HeapTotals& totals() const { return model.totals(); }

  HeapModel model;

private:
  std::uint64_t number_ = 0;
};

TEST(HeapModel, SumsAllocationsAndReleases) {
  Story story;
  story.make(0x1000, 100);
  story.make(0x2000, 50, EventKind::New);
  EXPECT_EQ(story.end(0x1000), 1u);
  story.make(0x3000, 20, EventKind::Calloc);
  EXPECT_EQ(story.totals().events, 4u);
  EXPECT_EQ(story.totals().allocated_bytes, 170u);
  EXPECT_EQ(story.totals().allocated_blocks, 3u);
  EXPECT_EQ(story.totals().live_bytes, 70u);
  EXPECT_EQ(story.totals().live_blocks, 2u);
  EXPECT_EQ(story.totals().per_kind[static_cast<std::size_t>(EventKind::New)], 1u);
}

TEST(HeapModel, PeakIsTheFirstEventAfterWhichLiveBytesWereHighest) {
  Story story;
  story.make(0x1000, 100);
  story.make(0x2000, 50); // 150: the peak
  story.end(0x1000);
  story.make(0x1000, 100); // 150 again, but later
  EXPECT_EQ(story.totals().peak_bytes, 150u);
  EXPECT_EQ(story.totals().peak_event, 2u);
  EXPECT_EQ(story.totals().peak_us, 20u);
}

TEST(HeapModel, ReallocNeverCountsOldAndNewTogether) {
  Story story;
  story.make(0x1000, 1000);
  EXPECT_EQ(story.move(0x1000, 0x8000, 1100), 1u);
  EXPECT_EQ(story.totals().peak_bytes, 1100u);
  EXPECT_EQ(story.totals().live_bytes, 1100u);
  EXPECT_EQ(story.totals().live_blocks, 1u);
}

TEST(HeapModel, ReallocInPlaceChangesTheSize) {
  Story story;
  story.make(0x1000, 1000);
  story.move(0x1000, 0x1000, 10);
  EXPECT_EQ(story.totals().live_bytes, 10u);
  EXPECT_EQ(story.totals().live_blocks, 1u);
  EXPECT_EQ(story.end(0x1000), 2u);
  EXPECT_EQ(story.totals().collisions, 0u);
}

TEST(HeapModel, ReallocToNothingIsARelease) {
  Story story;
  story.make(0x1000, 1000);
  story.move(0x1000, 0, 0);
  EXPECT_EQ(story.totals().live_bytes, 0u);
  EXPECT_EQ(story.totals().live_blocks, 0u);
  EXPECT_EQ(story.totals().allocated_blocks, 1u);
}

TEST(HeapModel, ReallocOfNothingIsAnAllocation) {
  Story story;
  EXPECT_EQ(story.move(0, 0x1000, 10), 0u);
  EXPECT_EQ(story.totals().live_blocks, 1u);
  EXPECT_EQ(story.totals().unknown_releases, 0u);
}

TEST(HeapModel, ReallocWhoseOldBlockEndedEarlierReleasesItOnce) {
  Story story;
  story.make(0x1000, 1000);
  story.end(0x1000, EventKind::ReallocRelease);
  story.make(0x1000, 30); // another thread's
  story.move(0x1000, 0x8000, 1100, true);
  EXPECT_EQ(story.totals().live_bytes, 1130u);
  EXPECT_EQ(story.totals().live_blocks, 2u);
  EXPECT_EQ(story.totals().unknown_releases, 0u);
}

TEST(HeapModel, ReleaseOfABlockOlderThanTheTapeIsCounted) {
  Story story;
  EXPECT_EQ(story.end(0x1000), 0u);
  EXPECT_EQ(story.totals().unknown_releases, 1u);
  EXPECT_EQ(story.totals().live_blocks, 0u);
}

TEST(HeapModel, ReleaseOfAddressZeroIsOfAnUnknownBlock) {
  Story story;
  story.make(0x1000, 100);
  EXPECT_EQ(story.end(0), 0u);
  EXPECT_EQ(story.totals().unknown_releases, 1u);
  EXPECT_EQ(story.totals().live_blocks, 1u);
}

TEST(HeapModel, MappingsDoNotCountAsHeap) {
  Story story;
  story.step(event_of(EventKind::MmapAnonymous, 0x10000, 1 << 20));
  story.step(event_of(EventKind::Munmap, 0x10000, 1 << 20));
  EXPECT_EQ(story.totals().allocated_bytes, 0u);
  EXPECT_EQ(story.totals().peak_bytes, 0u);
  EXPECT_EQ(story.totals().per_kind[static_cast<std::size_t>(EventKind::Munmap)], 1u);
}

TEST(HeapModel, AllocationAtALiveAddressReplacesTheBlock) {
  Story story;
  story.make(0x1000, 100);
  story.make(0x1000, 7);
  EXPECT_EQ(story.totals().live_bytes, 7u);
  EXPECT_EQ(story.totals().live_blocks, 1u);
  EXPECT_EQ(story.totals().collisions, 1u);
}

TEST(HeapModel, CollisionHandlerMayReleaseTheBlockInTheWay) {
  HeapModel model;
  Event first = event_of(EventKind::Malloc, 0x1000, 100, 1);
  model.apply(first);
  Event second = event_of(EventKind::Malloc, 0x1000, 50, 2);
  model.apply(second, [&](Event& event) {
    Event release = event_of(EventKind::Free, 0x1000, 0, event.number);
    EXPECT_EQ(model.apply(release), 1u);
    event.number = 3;
  });
  EXPECT_EQ(second.number, 3u);
  EXPECT_EQ(model.totals().collisions, 0u);
  EXPECT_EQ(model.totals().events, 3u);
  EXPECT_EQ(model.apply(event_of(EventKind::Free, 0x1000, 0, 4)), 3u);
}

} // namespace
} // namespace heaptape
