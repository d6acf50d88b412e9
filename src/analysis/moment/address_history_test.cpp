#include "analysis/moment/address_history.h"

#include <gtest/gtest.h>

#include "analysis/index/naive_findings_for_test.h"
#include "analysis/index/story_for_test.h"
#include "analysis/index/tape_for_test.h"

namespace heaptape {
namespace {

using test::SmallTape;
using test::Story;

History history_in(const std::vector<Event>& events, HistoryQuery query) {
  const SmallTape file(events, 40, 64);
  return history_of(file.open(), query);
}

TEST(AddressHistory, TellsWhoMadeAndWhoEndedEveryBlockThatCoveredTheAddress) {
  const History history = history_in(Story()
                                         .by(1, 3)
                                         .make(0x1000, 64)
                                         .by(2, 4)
                                         .end(0x1000)
                                         .by(1, 5)
                                         .make(0x0ff0, 100, EventKind::New)
                                         .make(0x1100, 8)
                                         .events(),
                                     {.range = {0x1010, 0x1011}});
  ASSERT_EQ(history.lives.size(), 2u);
  const Tenant& first = history.lives[0];
  EXPECT_EQ(first.address, 0x1000u);
  EXPECT_EQ(first.ended, LifeEnd::Released);
  EXPECT_EQ(first.end_event, 2u);
  EXPECT_EQ(first.owner, (Owner{StackId(3), ThreadId(1)}));
  EXPECT_EQ(first.ender, (Owner{StackId(4), ThreadId(2)}));
  EXPECT_EQ(history.lives[1].address, 0x0ff0u);
  EXPECT_EQ(history.lives[1].kind, EventKind::New);
  EXPECT_EQ(history.lives[1].ended, LifeEnd::Live);
}

TEST(AddressHistory, ShowsBothSidesOfARealloc) {
  const auto events = Story().make(0x1000, 64).move(0x1000, 0x2000, 128).move(0x2000, 0, 0).events();
  const History from = history_in(events, {.range = {0x1000, 0x1001}});
  ASSERT_EQ(from.lives.size(), 1u);
  EXPECT_EQ(from.lives[0].ended, LifeEnd::Reallocated);
  EXPECT_EQ(from.lives[0].to, 0x2000u);
  const History to = history_in(events, {.range = {0x2040, 0x2041}});
  ASSERT_EQ(to.lives.size(), 1u);
  EXPECT_EQ(to.lives[0].from, 0x1000u);
  EXPECT_EQ(to.lives[0].ended, LifeEnd::Released); // realloc(p, 0)
}

TEST(AddressHistory, TellsReleasesOfWhatIsNoBlock) {
  const auto events = Story().make(0x1000, 64).end(0x1000).end(0x1000).make(0x1000, 64).end(0x1010).events();
  const History twice = history_in(events, {.range = {0x1000, 0x1001}});
  ASSERT_EQ(twice.bad_releases.size(), 1u);
  EXPECT_EQ(twice.bad_releases[0].number, 3u);
  const History inside = history_in(events, {.range = {0x1008, 0x1018}});
  ASSERT_EQ(inside.bad_releases.size(), 1u);
  EXPECT_EQ(inside.bad_releases[0].number, 5u);
}

TEST(AddressHistory, FindsTheReleaseOfABlockThatBeginsFarInFront) {
  const History history =
      history_in(Story().make(0x10'0000, 0x100'0000).end(0x10'0000).events(), {.range = {0x90'0000, 0x90'0001}});
  ASSERT_EQ(history.lives.size(), 1u);
  EXPECT_EQ(history.lives[0].ended, LifeEnd::Released);
}

TEST(AddressHistory, KeepsTheLatestAndCountsTheOthers) {
  Story story;
  story.make(0x0f00, 0x200); // lives from the first event to the last but one: the oldest of all, though it ends late
  for (int i = 0; i < 5000; ++i) story.make(0x1000, 8).end(0x1000);
  const History history = history_in(story.end(0x0f00).events(), {.range = {0x1000, 0x1001}, .most = 10});
  ASSERT_EQ(history.lives.size(), 10u);
  EXPECT_EQ(history.earlier, 4991u);
  EXPECT_EQ(history.lives.back().event, 10'000u);
  EXPECT_EQ(history.lives.front().event, 9'982u);
}

TEST(AddressHistory, KnowsTheMappingsOfTheProgram) {
  const History history = history_in(Story().map(0x10000, 0x4000).unmap(0x12000, 0x1000).map(0x12000, 0x1000).events(),
                                     {.range = {0x12000, 0x12001}});
  ASSERT_EQ(history.mappings.size(), 2u);
  EXPECT_EQ(history.mappings[0].piece.event, 1u);
  EXPECT_EQ(history.mappings[0].closed_event, 2u);
  EXPECT_EQ(history.mappings[1].piece.event, 3u);
  EXPECT_EQ(history.mappings[1].closed_event, 0u);
}

TEST(AddressHistory, EndsAtTheMomentAskedAboutAndWhenToldTo) {
  const auto events = Story().make(0x1000, 8).end(0x1000).make(0x1000, 8).events();
  const History then = history_in(events, {.range = {0x1000, 0x1001}, .until = 1});
  ASSERT_EQ(then.lives.size(), 1u);
  EXPECT_EQ(then.lives[0].ended, LifeEnd::Live);
  EXPECT_TRUE(history_in(events, {.range = {0x1000, 0x1001}, .should_stop = [] { return true; }}).stopped);
}

// Against the list of all lives, at random addresses and moments of wild programs.
TEST(AddressHistory, EqualsASlowSearchThroughAllLives) {
  std::mt19937_64 random(7);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const auto events = test::wild_events(seed, 4000);
    const test::NaiveFindings naive(events);
    const SmallTape file(events, 300, 128);
    const TapeReader tape = file.open();
    for (int i = 0; i < 60; ++i) {
      const test::Life& about = naive.lives()[random() % naive.lives().size()];
      const std::uint64_t begin = about.made.address + random() % std::min<std::uint64_t>(about.made.size + 1, 1000);
      const MemoryRange range{begin, begin + 1 + (i % 3 == 0 ? random() % 500 : 0)};
      const std::uint64_t until = i % 2 == 0 ? events.size() : 1 + random() % events.size();
      const History history = history_of(tape, {.range = range, .until = until, .most = 100'000});
      std::vector<const test::Life*> expected;
      for (const test::Life& life : naive.lives()) {
        if (life.made.number <= until && range.meets(life.made.address, life.made.size)) expected.push_back(&life);
      }
      ASSERT_EQ(history.lives.size(), expected.size()) << seed << " " << std::hex << begin;
      for (std::size_t k = 0; k < expected.size(); ++k) {
        const test::Life& life = *expected[k];
        const Tenant& found = history.lives[k];
        EXPECT_EQ(found.event, life.made.number);
        EXPECT_EQ(found.size, life.made.size);
        EXPECT_EQ(found.ended == LifeEnd::Live, life.ended > until);
        if (life.ended > until) continue;
        EXPECT_EQ(found.end_event, life.ended);
        EXPECT_EQ(found.ended == LifeEnd::Unseen, life.given_up);
        EXPECT_EQ(found.ender.thread, life.ended_by);
      }
    }
  }
}

} // namespace
} // namespace heaptape
