#include "analysis/moment/heap_calls.h"

#include <gtest/gtest.h>

#include "analysis/index/story_for_test.h"
#include "analysis/index/tape_for_test.h"

namespace heaptape {
namespace {

// 1 main <- 2 call of malloc <- 3 in malloc <- 4 deeper in malloc; 5 beside the call; 6 a call of malloc inside the call at 2
const std::vector<StackNode> kStacks{{},
                                     {StackId(), 10},
                                     {StackId(1), 20},
                                     {StackId(2), 30},
                                     {StackId(3), 40},
                                     {StackId(1), 50},
                                     {StackId(2), 60},
                                     {StackId(6), 70}};

TEST(HeapCalls, ASampleIsInsideACallWhoseStackIsAnOuterPartOfItsOwn) {
  const HeapCalls calls{{StackId(2), {1, 0}}};
  EXPECT_EQ(heap_call_around(kStacks, calls, StackId(4)), StackId(2));
  EXPECT_EQ(heap_call_around(kStacks, calls, StackId(3)), StackId(2));
  EXPECT_EQ(heap_call_around(kStacks, calls, StackId(5)), StackId());
  EXPECT_EQ(heap_call_around(kStacks, calls, StackId(1)), StackId());
}

TEST(HeapCalls, WhereTheThreadWasIsNoCall) {
  EXPECT_EQ(heap_call_around(kStacks, {{StackId(2), {1, 0}}}, StackId(2)), StackId());
}

TEST(HeapCalls, OfCallsInsideEachOtherTheInnermostCounts) {
  EXPECT_EQ(heap_call_around(kStacks, {{StackId(2), {1, 0}}, {StackId(6), {1, 0}}}, StackId(7)), StackId(6));
}

TEST(HeapCalls, ADamagedStackEndsTheWay) {
  std::vector<StackNode> stacks = kStacks;
  stacks[3].parent = StackId(4);
  EXPECT_EQ(heap_call_around(stacks, {{StackId(2), {1, 0}}}, StackId(4)), StackId());
  EXPECT_EQ(heap_call_around(stacks, {}, StackId(400)), StackId());
}

TEST(HeapCalls, AReallocIsACallThatAllocatesAndMappingsAreNone) {
  test::Story story;
  story.by(1, 1).make(0x1000, 10).by(2, 1).make(0x2000, 10).by(1, 2).move(0x1000, 0x3000, 20).by(1, 3).end(0x3000);
  story.by(1, 4).map(0x10000, 4096);
  const test::SmallTape tape(story.events(), 4, 2);
  const HeapCalls calls = count_heap_calls(tape.open());
  EXPECT_EQ(calls, (HeapCalls{{StackId(1), {2, 0}}, {StackId(2), {1, 0}}, {StackId(3), {0, 1}}}));
}

} // namespace
} // namespace heaptape
