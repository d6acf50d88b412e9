#include "analysis/moment/replay_check.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
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

class Checked {
public:
  Checked& make(std::uint64_t address, std::uint64_t size) { return step(event_of(EventKind::Malloc, address, size)); }
  Checked& end(std::uint64_t address) { return step(event_of(EventKind::Free, address)); }
  Checked& move(std::uint64_t old_address, std::uint64_t address, std::uint64_t size, bool old_released = false) {
    Event event = event_of(EventKind::Realloc, address, size);
    event.old_address = old_address;
    event.old_released = old_released;
    return step(event);
  }
  Checked& pool(EventKind kind, std::uint64_t number, std::uint64_t address, std::uint64_t size = 0) {
    Event event = event_of(kind, address, size);
    event.old_address = number;
    return step(event);
  }
  Checked& step(Event event) {
    event.number = ++number_;
    check.add(event);
    return *this;
  }
  Checked& skip_numbers(std::uint64_t count) {
    number_ += count;
    return *this;
  }

  ReplayCheck check;

private:
  std::uint64_t number_ = 0;
};

using Findings = std::vector<ReplayFinding>;

TEST(ReplayCheck, OrdinaryHistoryHasNoFindings) {
  Checked tape;
  tape.make(0x1000, 16).make(0x1010, 32).end(0x1000).make(0x1000, 16).move(0x1010, 0x2000, 100).end(0x2000);
  EXPECT_EQ(tape.check.findings(), Findings{});
  EXPECT_EQ(tape.check.live_blocks(), 1u);
}

TEST(ReplayCheck, TheSameAddressLiveTwiceIsAnOverlap) {
  Checked tape;
  tape.make(0x1000, 16).make(0x1000, 8);
  EXPECT_EQ(tape.check.findings(), (Findings{{ReplayFault::Overlap, 2, 1, 0x1000, 8}}));
  EXPECT_EQ(tape.check.live_blocks(), 1u);
}

TEST(ReplayCheck, PartialOverlapsAreFoundFromBothSides) {
  Checked tape;
  tape.make(0x1100, 0x100).make(0x1080, 0x81); // reaches one byte into it
  tape.make(0x3100, 0x100).make(0x31ff, 0x10); // begins in its last byte
  EXPECT_EQ(tape.check.findings(),
            (Findings{{ReplayFault::Overlap, 2, 1, 0x1080, 0x81}, {ReplayFault::Overlap, 4, 3, 0x31ff, 0x10}}));
}

TEST(ReplayCheck, NeighboursThatTouchDoNotOverlap) {
  Checked tape;
  tape.make(0x1ff0, 0x20).make(0x2010, 0x10).make(0x1fe0, 0x10).make(0x10'0000, 0x10'0000).make(0x20'0000, 16);
  EXPECT_EQ(tape.check.fault_count(), 0u);
}

TEST(ReplayCheck, BlocksAcrossPagesAndLongBlocksOverlapToo) {
  Checked tape;
  tape.make(0x1ff0, 0x20).make(0x2000, 8);            // the first reaches over the page's edge
  tape.make(0x10'0000, 0x10'0000).make(0x18'0000, 8); // inside a long block
  tape.make(0x48'0000, 8).make(0x40'0000, 0x10'0000); // a long block over a short one
  tape.make(0x90'0000, 0x10'0000).make(0x98'0000, 0x10'0000);
  const std::vector<std::uint64_t> expected = {2, 4, 6, 8};
  std::vector<std::uint64_t> found;
  for (const ReplayFinding& finding : tape.check.findings()) found.push_back(finding.event);
  EXPECT_EQ(found, expected);
}

TEST(ReplayCheck, OneBlockOverSeveralReportsEach) {
  Checked tape;
  tape.make(0x1000, 16).make(0x1010, 16).make(0x1000, 64);
  EXPECT_EQ(tape.check.count(ReplayFault::Overlap), 2u);
  EXPECT_EQ(tape.check.live_blocks(), 1u);
}

TEST(ReplayCheck, SecondReleaseNamesTheFirst) {
  Checked tape;
  tape.make(0x1000, 16).end(0x1000).end(0x1000);
  EXPECT_EQ(tape.check.findings(), (Findings{{ReplayFault::DoubleRelease, 3, 2, 0x1000, 0}}));
}

TEST(ReplayCheck, SecondReleaseOfALongBlockNamesTheFirst) {
  Checked tape;
  tape.make(0x10'0000, 0x10'0000).end(0x10'0000).end(0x10'0000);
  EXPECT_EQ(tape.check.findings(), (Findings{{ReplayFault::DoubleRelease, 3, 2, 0x10'0000, 0}}));
}

TEST(ReplayCheck, ReleaseInsideABlockNamesItsAllocation) {
  Checked tape;
  tape.make(0x1000, 64).end(0x1010);
  EXPECT_EQ(tape.check.findings(), (Findings{{ReplayFault::InteriorRelease, 2, 1, 0x1010, 0}}));
  EXPECT_EQ(tape.check.live_blocks(), 1u);
}

TEST(ReplayCheck, ReallocOfAReleasedBlockIsASecondRelease) {
  Checked tape;
  tape.make(0x1000, 64).end(0x1000).move(0x1000, 0x2000, 10);
  EXPECT_EQ(tape.check.count(ReplayFault::DoubleRelease), 1u);
}

TEST(ReplayCheck, ReleaseOfAnUnknownAddressIsOnlyCounted) {
  Checked tape;
  tape.end(0x1000).move(0x5000, 0x6000, 8);
  EXPECT_EQ(tape.check.fault_count(), 0u);
  EXPECT_EQ(tape.check.unknown_releases(), 2u);
}

TEST(ReplayCheck, ReallocReleasedEarlierMayLeaveItsOldAddressToAnother) {
  Checked tape;
  tape.make(0x1000, 64).step(event_of(EventKind::ReallocRelease, 0x1000)).make(0x1000, 32);
  tape.move(0x1000, 0x2000, 128, true);
  EXPECT_EQ(tape.check.fault_count(), 0u);
  EXPECT_EQ(tape.check.live_blocks(), 2u);
}

TEST(ReplayCheck, EmptyBlocksHaveTheirAddressForThemselves) {
  Checked tape;
  tape.make(0x1000, 0).make(0x1000, 0).end(0x1000);
  EXPECT_EQ(tape.check.count(ReplayFault::Overlap), 1u);
  EXPECT_EQ(tape.check.live_blocks(), 0u);
}

TEST(ReplayCheck, AfterAGapNothingIsTakenForKnown) {
  Checked tape;
  tape.make(0x1000, 16).skip_numbers(5).make(0x1000, 16);
  EXPECT_EQ(tape.check.fault_count(), 0u);
  EXPECT_EQ(tape.check.gaps(), 1u);
}

TEST(ReplayCheck, MappingsAreNoBlocks) {
  Checked tape;
  tape.make(0x1000, 16).step(event_of(EventKind::MmapAnonymous, 0x1000, 4096));
  tape.step(event_of(EventKind::Munmap, 0x1000, 4096)).end(0x1000);
  EXPECT_EQ(tape.check.fault_count(), 0u);
}

TEST(ReplayCheck, KeepsOnlyTheFirstFindingsButCountsAll) {
  Checked tape;
  for (int i = 0; i < 3000; ++i) tape.make(0x1000, 16);
  EXPECT_EQ(tape.check.findings().size(), ReplayCheck::kMostFindings);
  EXPECT_EQ(tape.check.count(ReplayFault::Overlap), 2999u);
}

// Every address of a small arena is tracked byte by byte and compared with the verdict.
TEST(ReplayCheck, AgreesWithAByteMapOverRandomHistories) {
  constexpr std::uint64_t kArena = 0x7000'0000, kBytes = 1 << 16;
  std::mt19937_64 random(3);
  Checked tape;
  std::map<std::uint64_t, std::uint64_t> live; // address -> size
  std::uint64_t overlaps = 0, interior = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t at = random() % (kBytes - 9000) & ~std::uint64_t{7};
    const std::uint64_t size = random() % 8 == 0 ? random() % 9000 : random() % 200 + 1;
    if (random() % 2 == 0) {
      const std::uint64_t length = std::max<std::uint64_t>(size, 1);
      for (auto block = live.begin(); block != live.end();) {
        const bool overlap =
            block->first < at + length && at < block->first + std::max<std::uint64_t>(block->second, 1);
        overlaps += overlap ? 1 : 0;
        block = overlap ? live.erase(block) : std::next(block);
      }
      live[at] = size;
      tape.make(kArena + at, size);
    } else {
      const auto after = live.upper_bound(at);
      const bool begins = live.erase(at) != 0;
      if (!begins && after != live.begin()) {
        const auto before = std::prev(after);
        interior += at < before->first + std::max<std::uint64_t>(before->second, 1) ? 1 : 0;
      }
      tape.end(kArena + at);
    }
    ASSERT_EQ(tape.check.live_blocks(), live.size());
  }
  EXPECT_EQ(tape.check.count(ReplayFault::Overlap), overlaps);
  EXPECT_EQ(tape.check.count(ReplayFault::InteriorRelease), interior);
  EXPECT_GT(overlaps, 100u);
  EXPECT_GT(interior, 100u);
}

TEST(ReplayCheck, PoolBlocksMayOverlapTheHeapAndOtherPoolsButNotEachOther) {
  Checked tape;
  tape.make(0x1000, 4096);
  tape.pool(EventKind::PoolAlloc, 1, 0x1000, 64).pool(EventKind::PoolAlloc, 2, 0x1000, 64);
  EXPECT_EQ(tape.check.findings(), Findings{});
  tape.pool(EventKind::PoolAlloc, 1, 0x1020, 64);
  EXPECT_EQ(tape.check.findings(), (Findings{{ReplayFault::Overlap, 4, 2, 0x1020, 64, 1}}));
}

TEST(ReplayCheck, ABlockFreedTwiceFromItsPoolIsFoundUnlessThePoolWasEmptiedSince) {
  Checked tape;
  tape.pool(EventKind::PoolAlloc, 1, 0x1000, 64).pool(EventKind::PoolFree, 1, 0x1000);
  tape.pool(EventKind::PoolFree, 1, 0x1000);
  EXPECT_EQ(tape.check.findings(), (Findings{{ReplayFault::DoubleRelease, 3, 2, 0x1000, 0, 1}}));
  tape.pool(EventKind::PoolFree, 1, 0).pool(EventKind::PoolFree, 1, 0x1000).pool(EventKind::PoolAlloc, 1, 0x1010, 8);
  EXPECT_EQ(tape.check.fault_count(), 1u);
  EXPECT_EQ(tape.check.unknown_releases(), 0u); // those are the heap's
}

TEST(ReplayCheck, PoolsWhoseFreesAreNotAllOnTheTapeAreNotChecked) {
  ReplayCheck check({7});
  for (std::uint64_t number = 1; number <= 3; ++number) {
    Event event = event_of(EventKind::PoolAlloc, 0x1000, 16, number);
    event.old_address = 7;
    check.add(event);
  }
  EXPECT_EQ(check.fault_count(), 0u);
}

} // namespace
} // namespace heaptape
