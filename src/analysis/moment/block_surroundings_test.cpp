#include "analysis/moment/block_surroundings.h"

#include <gtest/gtest.h>

#include "analysis/index/story_for_test.h"
#include "analysis/index/tape_for_test.h"

namespace heaptape {
namespace {

using test::SmallTape;
using test::Story;

std::vector<BlockSurroundings> answers(const Story& story, const std::vector<BlockQuestion>& questions) {
  const SmallTape file(story.events(), 4, 3);
  const TapeReader tape = file.open();
  return block_surroundings(tape, questions);
}
BlockSurroundings answer(const Story& story, const BlockQuestion& question) { return answers(story, {question})[0]; }

// The events that made the owners, latest first.
std::vector<std::uint64_t> makers(const BlockSurroundings& found) {
  std::vector<std::uint64_t> events;
  for (const Tenant& owner : found.owners) events.push_back(owner.event);
  return events;
}
std::uint64_t maker(const std::optional<Tenant>& block) { return block ? block->event : 0; }

using Events = std::vector<std::uint64_t>;

TEST(BlockSurroundings, ABlockIsKnownByAnAddressInIt) {
  const Story story = Story().by(2, 3).make(0x1000, 64).by(1, 1).make(0x2000, 8);
  const BlockSurroundings found = answer(story, {.address = 0x1010, .event = 2});
  ASSERT_EQ(makers(found), Events{1});
  EXPECT_EQ(found.owners[0].owner, (Owner{StackId(3), ThreadId(2)}));
  EXPECT_EQ(found.owners[0].ended, LifeEnd::Live);
}

TEST(BlockSurroundings, EachQuestionIsAboutItsOwnMoment) {
  const Story story = Story().make(0x1000, 64).end(0x1000).make(0x1000, 32).end(0x1000);
  const auto found = answers(story, {{.address = 0x1000, .event = 4},
                                     {.address = 0x1000, .event = 0},
                                     {.address = 0x1000, .event = 2},
                                     {.address = 0x1000, .event = 3}});
  EXPECT_EQ(makers(found[0]), (Events{3, 1}));
  EXPECT_EQ(found[0].owners[0].end_event, 4u);
  EXPECT_EQ(makers(found[1]), Events{});
  EXPECT_EQ(makers(found[2]), Events{1});
  EXPECT_EQ(found[2].owners[0].ended, LifeEnd::Released);
  EXPECT_EQ(makers(found[3]), (Events{3, 1}));
  EXPECT_EQ(found[3].owners[0].ended, LifeEnd::Live);
}

TEST(BlockSurroundings, OnlyTheLastOwnersAreKept) {
  Story story;
  for (int i = 0; i < 6; ++i) story.make(0x1000, 16).end(0x1000);
  EXPECT_EQ(makers(answer(story, {.address = 0x1000, .event = 12})), (Events{11, 9, 7, 5}));
}

TEST(BlockSurroundings, AReallocEndsOneLifeAndBeginsAnother) {
  const Story story = Story().make(0x1000, 64).move(0x1000, 0x1000, 16).move(0x1000, 0x9000, 100);
  const auto found = answers(story, {{.address = 0x1020, .event = 2}, {.address = 0x1000, .event = 3}});
  EXPECT_EQ(makers(found[0]), Events{1});
  EXPECT_EQ(found[0].owners[0].ended, LifeEnd::Reallocated);
  EXPECT_EQ(makers(found[1]), (Events{2, 1}));
  EXPECT_EQ(found[1].owners[0].to, 0x9000u);
}

TEST(BlockSurroundings, NeighboursAreTheNearestBlocksThatAreLive) {
  const Story story =
      Story().make(0x1000, 16).make(0x1040, 16).make(0x1080, 16).make(0x10c0, 16).make(0x1020, 16).end(0x1020);
  const auto found = answers(story, {{.address = 0x1080, .size = 16, .event = 6}, {.address = 0x1040, .event = 5}});
  EXPECT_EQ(maker(found[0].before), 2u);
  EXPECT_EQ(maker(found[0].behind), 4u);
  EXPECT_EQ(maker(found[1].before), 5u) << "it was released later";
  EXPECT_EQ(maker(found[1].behind), 3u);
}

TEST(BlockSurroundings, WhatLiesFarAwayIsNotBeside) {
  const Story story = Story().make(0x1000, 16).make(0x10'0000, 16).make(0x20'0000, 16);
  const BlockSurroundings found = answer(story, {.address = 0x10'0000, .event = 3});
  EXPECT_EQ(maker(found.before), 0u);
  EXPECT_EQ(maker(found.behind), 0u);
}

TEST(BlockSurroundings, ALargeBlockIsKnownAtItsFarEnd) {
  const Story story = Story().make(0x10'0000, 0x80'0000).make(0x90'0010, 16).make(0x90'0040, 16);
  const auto found = answers(story, {{.address = 0x8f'fff0, .event = 3}, {.address = 0x90'0040, .event = 3}});
  EXPECT_EQ(makers(found[0]), Events{1});
  EXPECT_EQ(maker(found[0].behind), 2u);
  EXPECT_EQ(maker(found[1].before), 2u);
  const BlockSurroundings first = answer(story, {.address = 0x90'0010, .event = 3});
  EXPECT_EQ(maker(first.before), 1u) << "it begins far in front, but ends just there";
}

TEST(BlockSurroundings, BlocksBehindALargeOneAreFoundWhenItsSizeIsKnown) {
  const Story story = Story().make(0x10'0000, 0x80'0000).make(0x90'0010, 16);
  EXPECT_EQ(maker(answer(story, {.address = 0x10'0000, .size = 0x80'0000, .event = 2}).behind), 2u);
}

TEST(BlockSurroundings, TheEndsOfTheAddressSpaceAreNoTrouble) {
  const Story story = Story().make(0x1000, 16);
  EXPECT_EQ(makers(answer(story, {.address = ~std::uint64_t{0}, .size = ~std::uint64_t{0}, .event = 1})), Events{});
  EXPECT_EQ(makers(answer(story, {.address = 0, .size = ~std::uint64_t{0}, .event = 1})), Events{});
}

} // namespace
} // namespace heaptape
