#include "analysis/moment/address_facts.h"

#include <gtest/gtest.h>

#include "analysis/index/story_for_test.h"
#include "analysis/index/tape_for_test.h"

namespace heaptape {
namespace {

using test::SmallTape;
using test::Story;

AddressFacts facts_in(const Story& story, const AddressQuery& query) {
  const SmallTape file(story.events(), 40, 64);
  return find_address_facts(file.open(), query);
}

TEST(AddressFacts, ALiveBlockIsTheLastAndHasOneBeforeIt) {
  const Story story = Story().make(0x1000, 64).end(0x1000).make(0x0ff0, 100);
  const AddressFacts facts = facts_in(story, {.address = 0x1010, .event = 3});
  ASSERT_NE(facts.last(), nullptr);
  EXPECT_EQ(facts.last()->event, 3u);
  EXPECT_EQ(facts.last()->ended, LifeEnd::Live);
  ASSERT_NE(facts.before(3), nullptr);
  EXPECT_EQ(facts.before(3)->event, 1u);
  EXPECT_EQ(facts.before(1), nullptr);
}

TEST(AddressFacts, AnEndBehindTheMomentHasNotHappenedYet) {
  const Story story = Story().make(0x1000, 64).make(0x2000, 8).end(0x1000);
  const AddressFacts facts = facts_in(story, {.address = 0x1000, .event = 2, .read_on_until = 3});
  ASSERT_NE(facts.last(), nullptr);
  EXPECT_EQ(facts.last()->ended, LifeEnd::Live);
  EXPECT_FALSE(facts.freed);
}

TEST(AddressFacts, WhoGotAFreedAddressNextIsFoundBehindTheMoment) {
  const Story story = Story().make(0x1000, 64).end(0x1000).make(0x2000, 8).make(0x1000, 16).end(0x1000).make(0x1000, 8);
  const AddressFacts here = facts_in(story, {.address = 0x1008, .event = 3});
  EXPECT_EQ(here.freed->end_event, 2u);
  EXPECT_FALSE(here.next);
  const AddressFacts later = facts_in(story, {.address = 0x1008, .event = 3, .read_on_until = 6});
  EXPECT_EQ(later.freed->end_event, 2u);
  EXPECT_EQ(later.next->event, 4u);
  EXPECT_EQ(later.covering.size(), 1u);
}

TEST(AddressFacts, AMappingOverAFreedAddressIsToldToo) {
  const Story story = Story().make(0x10010, 64).end(0x10010).map(0x10000, 0x2000).make(0x10010, 8);
  const AddressFacts facts = facts_in(story, {.address = 0x10010, .event = 2, .read_on_until = 4});
  ASSERT_TRUE(facts.next_mapping && facts.next);
  EXPECT_EQ(facts.next_mapping->event, 3u);
  EXPECT_EQ(facts.next->event, 4u);
}

TEST(AddressFacts, TheFreedBlockIsTheOneThatEndedLastHoweverOld) {
  Story story;
  story.make(0x1000, 256);
  // A thousand short lives on the same byte, as a tape with missing releases may have them.
  for (int i = 0; i < 1000; ++i) story.make(0x1080, 8).end(0x1080);
  story.end(0x1000);
  const AddressFacts facts = facts_in(story, {.address = 0x1084, .event = 2002});
  EXPECT_EQ(facts.freed->event, 1u);
  EXPECT_EQ(facts.freed->end_event, 2002u);
  EXPECT_EQ(facts.last()->event, 2000u);
}

TEST(AddressFacts, AFreedBlockInFrontCountsAsFarAsMallocLetItUse) {
  const Story story = Story().make(0x1000, 20).end(0x1000).make(0x2000, 0).end(0x2000);
  EXPECT_TRUE(facts_in(story, {.address = 0x1014, .event = 4}).freed_in_front);
  EXPECT_TRUE(facts_in(story, {.address = 0x1017, .event = 4}).freed_in_front);
  EXPECT_FALSE(facts_in(story, {.address = 0x1018, .event = 4}).freed_in_front);
  EXPECT_TRUE(facts_in(story, {.address = 0x2017, .event = 4}).freed_in_front);
  EXPECT_FALSE(facts_in(story, {.address = 0x2018, .event = 4}).freed_in_front);
  EXPECT_FALSE(facts_in(story, {.address = 0x1014, .event = 1}).freed_in_front); // still live
}

TEST(AddressFacts, BadReleasesAreThoseOfThisVeryAddressUpToTheMoment) {
  const Story story = Story().make(0x1000, 64).end(0x1000).end(0x1000).end(0x1008).end(0x1000);
  const AddressFacts facts = facts_in(story, {.address = 0x1000, .event = 4, .read_on_until = 5});
  ASSERT_EQ(facts.bad_releases.size(), 1u);
  EXPECT_EQ(facts.bad_releases[0].number, 3u);
}

TEST(AddressFacts, PoolsComeOutOfTheSamePassWhenAskedFor) {
  const Story story = Story().make(0x1000, 4096).pool_make(1, 0x1100, 64).pool_make(1, 0x1200, 64).pool_end(1, 0x1100);
  EXPECT_FALSE(facts_in(story, {.address = 0x1100, .event = 3}).in_pools);
  EXPECT_EQ(facts_in(story, {.address = 0x1110, .event = 3, .with_pools = true}).in_pools->size(), 1u);
  EXPECT_TRUE(facts_in(story, {.address = 0x1110, .event = 4, .with_pools = true}).in_pools->empty());
}

TEST(AddressFacts, ALargeBlockThatBeginsFarInFrontEndsWhetherItsStartWasKnownOrNot) {
  const Story story = Story().make(0x100'0000, 0x20'0000).end(0x100'0000);
  for (const std::uint64_t start : {0ul, 0x100'0000ul}) {
    const AddressFacts facts = facts_in(story, {.address = 0x110'0000, .event = 2, .known_start = start});
    ASSERT_TRUE(facts.freed);
    EXPECT_EQ(facts.freed->end_event, 2u);
  }
}

TEST(AddressFacts, AtTheLastAddressOfAllThereIsNothing) {
  const Story story = Story().make(0x1000, 64);
  EXPECT_EQ(facts_in(story, {.address = ~std::uint64_t{0}, .event = 1}).last(), nullptr);
}

} // namespace
} // namespace heaptape
