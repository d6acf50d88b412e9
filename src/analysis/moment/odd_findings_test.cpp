#include "analysis/moment/odd_findings.h"

#include <gtest/gtest.h>

#include "analysis/index/story_for_test.h"
#include "analysis/index/tape_for_test.h"

namespace heaptape {
namespace {

using test::SmallTape;
using test::Story;

OddCall not_live(std::uint64_t event, std::uint64_t address) {
  return {.kind = OddKind::NotLive, .call = EventKind::Free, .event = event, .thread = ThreadId(1), .address = address};
}

// The sort of each call and the event it refers to.
std::vector<std::pair<OddSort, std::uint64_t>> looked_into(const Story& story, std::vector<OddCall> calls,
                                                           std::size_t most = 1000) {
  const SmallTape file(story.events(), 4, 3, true, {}, {.odd = {std::move(calls), 0}});
  const TapeReader tape = file.open();
  std::vector<std::pair<OddSort, std::uint64_t>> found;
  for (const OddFinding& finding : odd_findings(tape, most)) found.emplace_back(finding.sort, finding.other);
  return found;
}

using Found = std::vector<std::pair<OddSort, std::uint64_t>>;

TEST(OddFindings, ASecondReleaseNamesTheFirst) {
  const Story story = Story().make(0x1000, 64).end(0x1000).make(0x2000, 8).end(0x1000);
  EXPECT_EQ(looked_into(story, {not_live(4, 0x1000)}), (Found{{OddSort::ReleasedTwice, 2}}));
}

TEST(OddFindings, AnAddressInsideALiveBlockNamesItsMaker) {
  const Story story = Story().make(0x1000, 64).make(0x2000, 8).end(0x1010).end(0x1040);
  EXPECT_EQ(looked_into(story, {not_live(3, 0x1010), not_live(4, 0x1040)}),
            (Found{{OddSort::InsideBlock, 1}, {OddSort::NotKnown, 0}}));
}

TEST(OddFindings, WhatComesAfterTheCallDoesNotExplainIt) {
  const Story story = Story().end(0x1000).make(0x1000, 64).end(0x1000).make(0x0ff0, 64);
  EXPECT_EQ(looked_into(story, {not_live(1, 0x1000)}), (Found{{OddSort::NotKnown, 0}}));
}

TEST(OddFindings, AReallocThatNeverReturnedIsLookedAtAfterTheEventBeforeIt) {
  const Story story = Story().make(0x1000, 64).end(0x1000);
  OddCall call = not_live(2, 0x1000);
  call.kind = OddKind::Unfinished;
  EXPECT_EQ(looked_into(story, {call}), (Found{{OddSort::ReleasedTwice, 2}}));
}

TEST(OddFindings, CallsBeyondTheLimitAreNotLookedInto) {
  const Story story = Story().make(0x1000, 64).end(0x1000).end(0x1000).end(0x1000);
  EXPECT_EQ(looked_into(story, {not_live(3, 0x1000), not_live(4, 0x1000)}, 1),
            (Found{{OddSort::ReleasedTwice, 2}, {OddSort::NotKnown, 0}}));
}

TEST(OddFindings, AnAddressBelowAThreadsStackTopIsOnThatStack) {
  const std::vector<Thread> threads{{ThreadId(1), 11, "", 0, 0, 0x7ffd'0000'0000},
                                    {ThreadId(2), 12, "", 0, 0, 0x7f00'0080'0000}};
  const SmallTape file({}, 1, 3, true, {}, {.threads = threads});
  const TapeReader tape = file.open();
  EXPECT_EQ(place_of_address(tape, 0x7ffc'ffff'f000, ThreadId(2)).stack_of, ThreadId(1));
  EXPECT_EQ(place_of_address(tape, 0x7f00'0070'0000, ThreadId(1)).stack_of, ThreadId(2));
  EXPECT_EQ(place_of_address(tape, 0x5500'0000'0000, ThreadId(1)).sort, OddSort::NotKnown);
}

} // namespace
} // namespace heaptape
