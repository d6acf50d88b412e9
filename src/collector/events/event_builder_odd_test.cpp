// Calls that failed, or that an allocator cannot do what was meant with.
#include <gtest/gtest.h>

#include "collector/events/event_builder_impl.h"
#include "collector/recording/fake_program.h"
#include "wire/failed_call.h"

namespace heaptape {
namespace {

struct OneThread {
  std::vector<OddCall> odd_calls() { return pipeline.builder.odd_calls().take().calls; }

  FakeProgram program;
  Pipeline pipeline{program};
  FakeThread thread{program, 0, 100, 1};
};

TEST(OddCalls, AFailedCallIsNoEventAndKnowsTheEventBeforeIt) {
  OneThread one;
  const std::uint32_t stack = one.program.node(0, 0x4000);
  one.thread.malloc(10, 0x1000, 16);
  constexpr std::uint64_t kHuge = ~std::uint64_t{0} - 1;
  one.thread.put(EventKind::FailedCall, 20, wire::failed_call_field(EventKind::Calloc, kHuge, 12),
                 wire::failed_size_field(kHuge), stack);
  one.thread.malloc(30, 0x2000, 16);
  one.pipeline.round();
  EXPECT_EQ(one.pipeline.events().size(), 2u);
  const std::vector<OddCall> odd = one.odd_calls();
  ASSERT_EQ(odd.size(), 1u);
  EXPECT_EQ(odd[0].kind, OddKind::Failed);
  EXPECT_EQ(odd[0].call, EventKind::Calloc);
  EXPECT_EQ(odd[0].size, kHuge);
  EXPECT_EQ(odd[0].error, 12u);
  EXPECT_EQ(odd[0].event, 1u);
  EXPECT_EQ(odd[0].stack, StackId(1));
}

TEST(OddCalls, AFailedReallocNamesTheBlockThatItLeftAlone) {
  OneThread one;
  one.thread.malloc(10, 0x1000, 16);
  one.thread.realloc_begin(20, 0x1000);
  one.thread.put(EventKind::ReallocFailed, 30, 0x1000);
  one.thread.put(EventKind::FailedCall, 31, wire::failed_call_field(EventKind::Realloc, 1 << 20, 12), 1 << 20);
  one.pipeline.round();
  const std::vector<OddCall> odd = one.odd_calls();
  ASSERT_EQ(odd.size(), 1u);
  EXPECT_EQ(odd[0].address, 0x1000u);
  EXPECT_EQ(one.pipeline.builder.model().totals().live_bytes, 16u);
}

TEST(OddCalls, AReleaseOfWhatIsNotLiveIsNotedOnceWithItsEvent) {
  OneThread one;
  one.thread.malloc(10, 0x1000, 16);
  one.thread.free(20, 0x1000);
  one.thread.free(30, 0x1000);
  one.pipeline.round();
  const std::vector<OddCall> odd = one.odd_calls();
  ASSERT_EQ(odd.size(), 1u);
  EXPECT_EQ(odd[0].kind, OddKind::NotLive);
  EXPECT_EQ(odd[0].event, 3u);
  EXPECT_EQ(odd[0].address, 0x1000u);
}

TEST(OddCalls, AReallocOfWhatIsNotLiveThatNeverReturnsIsNotedAtTheEnd) {
  OneThread one;
  const std::uint32_t stack = one.program.node(0, 0x4000);
  one.thread.malloc(10, 0x1000, 16);
  one.thread.free(20, 0x1000);
  one.thread.put(EventKind::ReallocBegin, 30, 0x1000, 5000, stack);
  one.pipeline.finish();
  one.pipeline.builder.finish();
  const std::vector<OddCall> odd = one.odd_calls();
  ASSERT_EQ(odd.size(), 1u);
  EXPECT_EQ(odd[0].kind, OddKind::Unfinished);
  EXPECT_EQ(odd[0].event, 2u);
  EXPECT_EQ(odd[0].size, 5000u);
  EXPECT_EQ(odd[0].stack, StackId(1));
}

TEST(OddCalls, AReallocOfALiveBlockThatNeverReturnsIsNotOdd) {
  OneThread one;
  one.thread.malloc(10, 0x1000, 16);
  one.thread.realloc_begin(20, 0x1000);
  one.pipeline.finish();
  one.pipeline.builder.finish();
  EXPECT_TRUE(one.odd_calls().empty());
}

struct Pair {
  EventKind made, released;
  bool matches;
};

TEST(OddCalls, OnlyFunctionsOfOneFamilyMatch) {
  const Pair pairs[] = {
      {EventKind::Malloc, EventKind::Free, true},          {EventKind::Calloc, EventKind::FreeSized, true},
      {EventKind::Memalign, EventKind::Cfree, true},       {EventKind::New, EventKind::Delete, true},
      {EventKind::NewArray, EventKind::DeleteArray, true}, {EventKind::New, EventKind::Free, false},
      {EventKind::Malloc, EventKind::Delete, false},       {EventKind::New, EventKind::DeleteArray, false},
      {EventKind::NewArray, EventKind::Delete, false}};
  for (const Pair& pair : pairs) {
    OneThread one;
    one.thread.put(pair.made, 10, 0x1000, 16);
    one.thread.put(pair.released, 20, 0x1000);
    one.pipeline.round();
    const std::vector<OddCall> odd = one.odd_calls();
    ASSERT_EQ(odd.size(), pair.matches ? 0u : 1u) << kind_name(pair.made) << " and " << kind_name(pair.released);
    if (pair.matches) continue;
    EXPECT_EQ(odd[0].kind, OddKind::Mismatch);
    EXPECT_EQ(odd[0].maker, 1u);
    EXPECT_EQ(odd[0].block_size, 16u);
    EXPECT_EQ(odd[0].family, family_of(pair.made));
  }
}

TEST(OddCalls, ABlockThatBecameNewsMatchesDelete) {
  OneThread one;
  one.thread.malloc(10, 0x1000, 16);
  one.thread.put(EventKind::BecameNew, 20, 0x1000, static_cast<std::uint64_t>(EventKind::New));
  one.thread.put(EventKind::Delete, 30, 0x1000);
  one.pipeline.round();
  EXPECT_TRUE(one.odd_calls().empty());
}

TEST(OddCalls, WhereOperatorsAreMixedPairsSayNothing) {
  OneThread one;
  one.thread.malloc(10, 0x1000, 16);
  one.thread.put(EventKind::OperatorsMixed, 20, 0);
  one.thread.put(EventKind::Delete, 30, 0x1000);
  one.pipeline.round();
  EXPECT_TRUE(one.odd_calls().empty());
}

TEST(OddCalls, ASizeThatIsNotTheBlocksIsNoted) {
  OneThread one;
  one.thread.put(EventKind::New, 10, 0x1000, 16);
  one.thread.put(EventKind::Delete, 20, 0x1000, 16);
  one.thread.put(EventKind::New, 30, 0x1000, 16);
  one.thread.put(EventKind::Delete, 40, 0x1000, 24);
  one.pipeline.round();
  const std::vector<OddCall> odd = one.odd_calls();
  ASSERT_EQ(odd.size(), 1u);
  EXPECT_EQ(odd[0].kind, OddKind::WrongSize);
  EXPECT_EQ(odd[0].size, 24u);
  EXPECT_EQ(odd[0].block_size, 16u);
  EXPECT_EQ(one.pipeline.events()[3].size, 0u); // the event itself is a release like any other
}

TEST(OddCalls, AFailedCallOfAnUnknownKindIsDamage) {
  OneThread one;
  one.thread.put(EventKind::FailedCall, 20, 0xff, 8);
  one.pipeline.round();
  EXPECT_TRUE(one.odd_calls().empty());
  EXPECT_EQ(one.pipeline.builder.damaged(), 1u);
}

TEST(OddCalls, WhereThereAreTooManyTheyAreOnlyCounted) {
  OddCollector collector;
  for (std::uint64_t i = 0; i < OddCollector::kMost + 3; ++i) collector.add({.event = i});
  const OddCalls first = collector.take();
  EXPECT_EQ(first.calls.size(), OddCollector::kMost);
  EXPECT_EQ(first.left_out, 3u);
  EXPECT_FALSE(collector.anything_new());
  collector.add({});
  EXPECT_TRUE(collector.anything_new());
  EXPECT_EQ(collector.take().left_out, 4u);
}

} // namespace
} // namespace heaptape
