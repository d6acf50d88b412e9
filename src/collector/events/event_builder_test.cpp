#include "collector/events/event_builder_impl.h"

#include <gtest/gtest.h>

#include "collector/recording/fake_program.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kUs = 1000; // ticks of the fake program

TEST(EventBuilder, ReallocIsOneEventAtItsEnd) {
  FakeProgram program;
  Pipeline pipeline(program);
  const std::uint32_t stack = program.node(0, 0x4000);
  FakeThread thread(program, 0, 100, 1);
  thread.malloc(10 * kUs, 0x1000, 16);
  thread.realloc_begin(20 * kUs, 0x1000);
  thread.realloc_end(30 * kUs, 0x2000, 64, stack);
  pipeline.round();
  ASSERT_EQ(pipeline.events().size(), 2u);
  const Event& event = pipeline.events()[1];
  EXPECT_EQ(event.kind, EventKind::Realloc);
  EXPECT_EQ(event.time_us, 30u);
  EXPECT_EQ(event.address, 0x2000u);
  EXPECT_EQ(event.old_address, 0x1000u);
  EXPECT_EQ(event.size, 64u);
  EXPECT_EQ(event.stack, StackId(1));
  EXPECT_FALSE(event.old_released);
  EXPECT_EQ(pipeline.list.allocated[1], 1u);
  EXPECT_EQ(pipeline.builder.model().totals().live_bytes, 64u);
}

TEST(EventBuilder, ReallocWithoutAFirstHalfAllocates) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread thread(program, 0, 100, 1);
  thread.realloc_end(30, 0x2000, 64);
  pipeline.round();
  ASSERT_EQ(pipeline.events().size(), 1u);
  EXPECT_EQ(pipeline.events()[0].old_address, 0u);
}

TEST(EventBuilder, FailedReallocIsNoEvent) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread thread(program, 0, 100, 1);
  thread.malloc(10, 0x1000, 16);
  thread.realloc_begin(20, 0x1000);
  thread.put(EventKind::ReallocFailed, 30, 0);
  thread.realloc_end(40, 0x3000, 8); // realloc(NULL, 8) has nothing to do with the failed one
  pipeline.round();
  ASSERT_EQ(pipeline.events().size(), 2u);
  EXPECT_EQ(pipeline.events()[1].old_address, 0u);
}

TEST(EventBuilder, AKilledReallocIsNoEvent) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread thread(program, 0, 100, 1);
  thread.malloc(10, 0x1000, 16);
  thread.realloc_begin(20, 0x1000);
  pipeline.finish();
  EXPECT_EQ(pipeline.events().size(), 1u);
  EXPECT_EQ(pipeline.builder.model().totals().live_bytes, 16u);
}

TEST(EventBuilder, ReallocsOfASignalHandlerNestInsideTheInterruptedOne) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread thread(program, 0, 100, 1);
  thread.malloc(1, 0x1000, 16);
  thread.malloc(2, 0x2000, 16);
  thread.realloc_begin(10, 0x1000);
  thread.realloc_begin(20, 0x2000);
  thread.realloc_end(30, 0x5000, 32);
  thread.realloc_end(40, 0x6000, 64);
  pipeline.round();
  ASSERT_EQ(pipeline.events().size(), 4u);
  EXPECT_EQ(pipeline.events()[2].old_address, 0x2000u);
  EXPECT_EQ(pipeline.events()[3].old_address, 0x1000u);
  EXPECT_EQ(pipeline.builder.model().totals().live_blocks, 2u);
}

TEST(EventBuilder, AddressHandedOnDuringAReallocIsReleasedInFrontOfItsNextOwner) {
  FakeProgram program;
  Pipeline pipeline(program);
  const std::uint32_t stack = program.node(0, 0x4000);
  FakeThread a(program, 0, 100, 1), b(program, 1, 101, 2);
  a.malloc(10 * kUs, 0x1000, 16);
  a.put(EventKind::ReallocBegin, 20 * kUs, 0x1000, 64, stack);
  b.malloc(25 * kUs, 0x1000, 99); // the real realloc has already given it back
  a.realloc_end(30 * kUs, 0x2000, 64);
  b.free(40 * kUs, 0x1000);
  pipeline.round();
  const auto& events = pipeline.events();
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[1].kind, EventKind::ReallocRelease);
  EXPECT_EQ(events[1].number, 2u);
  EXPECT_EQ(events[1].address, 0x1000u);
  EXPECT_EQ(events[1].thread, ThreadId(1));
  EXPECT_EQ(events[1].stack, StackId(1));
  EXPECT_EQ(events[1].time_us, 25u);
  EXPECT_EQ(events[2].kind, EventKind::Malloc);
  EXPECT_EQ(events[2].number, 3u);
  EXPECT_EQ(events[3].kind, EventKind::Realloc);
  EXPECT_TRUE(events[3].old_released);
  EXPECT_EQ(events[3].old_address, 0x1000u);
  EXPECT_EQ(events[3].stack, StackId(1));
  EXPECT_EQ(pipeline.list.allocated, (std::vector<std::uint64_t>{0, 1, 0, 0, 3}));
  EXPECT_EQ(pipeline.builder.model().totals().live_bytes, 64u);
  EXPECT_EQ(pipeline.builder.model().totals().collisions, 0u);
  EXPECT_EQ(pipeline.builder.reordered(), 0u);
}

TEST(EventBuilder, AReleaseStampedALittleLateMovesInFrontOfTheAllocation) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread a(program, 0, 100, 1), b(program, 1, 101, 2);
  a.malloc(10 * kUs, 0x1000, 16);
  b.malloc(20 * kUs, 0x1000, 32);
  a.free(21 * kUs, 0x1000);
  pipeline.round();
  const auto& events = pipeline.events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].kind, EventKind::Free);
  EXPECT_EQ(events[1].thread, ThreadId(1));
  EXPECT_EQ(events[1].time_us, 20u);
  EXPECT_EQ(events[2].kind, EventKind::Malloc);
  EXPECT_EQ(events[2].number, 3u);
  EXPECT_EQ(pipeline.builder.reordered(), 1u);
  EXPECT_EQ(pipeline.builder.model().totals().live_bytes, 32u);
}

TEST(EventBuilder, AReallocStampedALittleLateReleasesInFrontOfTheAllocation) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread a(program, 0, 100, 1), b(program, 1, 101, 2);
  a.malloc(10 * kUs, 0x1000, 16);
  b.malloc(20 * kUs, 0x1000, 32);
  a.realloc_begin(21 * kUs, 0x1000);
  a.realloc_end(22 * kUs, 0x3000, 8);
  pipeline.round();
  const auto& events = pipeline.events();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[1].kind, EventKind::ReallocRelease);
  EXPECT_TRUE(events[3].old_released);
  EXPECT_EQ(pipeline.builder.model().totals().live_bytes, 40u);
  EXPECT_EQ(pipeline.builder.reordered(), 1u);
}

TEST(EventBuilder, AReleaseMuchLaterStaysWhereItIs) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread a(program, 0, 100, 1), b(program, 1, 101, 2);
  a.malloc(10 * kUs, 0x1000, 16);
  b.malloc(20 * kUs, 0x1000, 32);
  a.free(900 * kUs, 0x1000);
  pipeline.round();
  ASSERT_EQ(pipeline.events().size(), 3u);
  EXPECT_EQ(pipeline.events()[1].kind, EventKind::Malloc);
  EXPECT_EQ(pipeline.builder.reordered(), 0u);
  EXPECT_EQ(pipeline.builder.model().totals().collisions, 1u);
}

TEST(EventBuilder, AnAllocationStampedALittleLateMovesInFrontOfItsRelease) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread a(program, 0, 100, 1), b(program, 1, 101, 2);
  b.free(10 * kUs, 0x1000); // the clock was read before the pointer had arrived
  a.malloc(11 * kUs, 0x1000, 16);
  pipeline.round();
  const auto& events = pipeline.events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, EventKind::Malloc);
  EXPECT_EQ(events[0].time_us, 10u);
  EXPECT_EQ(events[1].kind, EventKind::Free);
  EXPECT_EQ(events[1].number, 2u);
  EXPECT_EQ(pipeline.list.allocated[1], 1u);
  EXPECT_EQ(pipeline.builder.reordered(), 1u);
  EXPECT_EQ(pipeline.builder.model().totals().unknown_releases, 0u);
}

TEST(EventBuilder, AReallocStampedALittleLateMovesInFrontOfTheReleaseOfItsBlock) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread a(program, 0, 100, 1), b(program, 1, 101, 2);
  a.malloc(5 * kUs, 0x1000, 16);
  b.free(10 * kUs, 0x2000);
  a.realloc_begin(10 * kUs + 1, 0x1000);
  a.realloc_end(11 * kUs, 0x2000, 32);
  pipeline.round();
  const auto& events = pipeline.events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].kind, EventKind::Realloc);
  EXPECT_EQ(events[1].old_address, 0x1000u);
  EXPECT_EQ(events[2].kind, EventKind::Free);
  EXPECT_EQ(pipeline.builder.model().totals().live_blocks, 0u);
}

TEST(EventBuilder, AReallocInPlaceStampedALittleLateEndsInFrontOfTheReleaseOfItsBlock) {
  for (const EventKind release : {EventKind::Free, EventKind::ReallocBegin}) {
    FakeProgram program;
    Pipeline pipeline(program);
    FakeThread a(program, 0, 100, 1), b(program, 1, 101, 2);
    a.malloc(5 * kUs, 0x1000, 16);
    a.realloc_begin(9 * kUs, 0x1000);
    b.put(release, 10 * kUs, 0x1000); // read its clock before the pointer had arrived
    a.realloc_end(10 * kUs + 1, 0x1000, 32);
    if (release == EventKind::ReallocBegin) b.realloc_end(11 * kUs, 0x2000, 64);
    pipeline.round();
    const auto& events = pipeline.events();
    ASSERT_EQ(events.size(), 3u);
    EXPECT_EQ(events[1].kind, EventKind::Realloc);
    EXPECT_EQ(events[1].old_address, 0x1000u);
    EXPECT_EQ(events[1].address, 0x1000u);
    EXPECT_EQ(events[2].thread, ThreadId(2));
    EXPECT_EQ(pipeline.builder.reordered(), 1u);
    EXPECT_EQ(pipeline.builder.model().totals().live_blocks, release == EventKind::Free ? 0u : 1u);
    EXPECT_EQ(pipeline.builder.model().totals().unknown_releases, 0u);
  }
}

TEST(EventBuilder, AFailedReallocStampedALittleLateLeavesItsBlockToTheRelease) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread a(program, 0, 100, 1), b(program, 1, 101, 2);
  a.malloc(5 * kUs, 0x1000, 16);
  a.realloc_begin(9 * kUs, 0x1000);
  b.free(10 * kUs, 0x1000);
  a.put(EventKind::ReallocFailed, 10 * kUs + 1, 0x1000);
  a.malloc(20 * kUs, 0x1000, 8);
  pipeline.round();
  ASSERT_EQ(pipeline.events().size(), 3u);
  EXPECT_EQ(pipeline.events()[1].kind, EventKind::Free);
  EXPECT_EQ(pipeline.events()[2].kind, EventKind::Malloc);
  EXPECT_EQ(pipeline.builder.model().totals().live_bytes, 8u);
}

TEST(EventBuilder, AReleaseOfAnUnknownBlockStaysAnEvent) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread thread(program, 0, 100, 1);
  thread.free(10, 0x1000);
  pipeline.round();
  ASSERT_EQ(pipeline.events().size(), 1u);
  EXPECT_EQ(pipeline.builder.model().totals().unknown_releases, 1u);
}

TEST(EventBuilder, MremapCarriesBothRanges) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread thread(program, 0, 100, 1);
  thread.put(EventKind::MmapAnonymous, 5, 0x10000, 4096);
  thread.put(EventKind::MremapBegin, 10, 0x10000, 4096);
  thread.put(EventKind::Mremap, 20, 0x40000, 8192);
  thread.put(EventKind::MremapBegin, 30, 0x40000, 8192);
  thread.put(EventKind::MremapFailed, 40, 0);
  thread.put(EventKind::Munmap, 50, 0x40000, 8192);
  pipeline.round();
  const auto& events = pipeline.events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].kind, EventKind::Mremap);
  EXPECT_EQ(events[1].old_address, 0x10000u);
  EXPECT_EQ(events[1].old_size, 4096u);
  EXPECT_EQ(events[1].size, 8192u);
  EXPECT_EQ(events[2].kind, EventKind::Munmap);
  EXPECT_EQ(events[2].size, 8192u);
  EXPECT_EQ(pipeline.builder.model().totals().allocated_bytes, 0u);
}

TEST(EventBuilder, AMappingWithoutAccessIsAReservationAndKeepsItsSize) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread thread(program, 0, 100, 1);
  thread.put(EventKind::MmapAnonymous, 5, 0x10000, 8192 | wire::kReservedBit);
  thread.put(EventKind::MmapAnonymous, 10, 0x20000, 4096);
  pipeline.round();
  const auto& events = pipeline.events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].size, 8192u);
  EXPECT_EQ(events[0].old_size, kReservedOnly);
  EXPECT_EQ(events[1].old_size, 0u);
}

TEST(EventBuilder, RecordsThatMakeNoSenseAreCountedAndSkipped) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread thread(program, 0, 100, 1);
  thread.put(static_cast<EventKind>(99), 10, 0x1000);
  thread.malloc(20, 0, 16);
  thread.free(30, 0);
  thread.realloc_end(40, 0, 0);
  thread.put(EventKind::None, 50, 0x1234); // a hook that was given up
  pipeline.round();
  EXPECT_EQ(pipeline.events().size(), 0u);
  EXPECT_EQ(pipeline.builder.damaged(), 4u);
}

TEST(EventBuilder, TimeNeverDecreasesAlongTheTape) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread thread(program, 0, 100, 1);
  thread.malloc(50 * kUs, 0x1000, 16);
  pipeline.round();
  thread.malloc(40 * kUs, 0x2000, 16); // too late for its place
  pipeline.round();
  ASSERT_EQ(pipeline.events().size(), 2u);
  EXPECT_EQ(pipeline.events()[1].time_us, 50u);
}

TEST(EventBuilder, AQuestionIsAnsweredAsOfItsPlaceInTheOrder) {
  FakeProgram program;
  Pipeline pipeline(program);
  AnswerDesk desk(program.memory);
  pipeline.builder.answer_at(desk);
  FakeThread first(program, 0, 100, 1), second(program, 1, 101, 1);
  program.header.questions = 1;
  EXPECT_TRUE(desk.is_awaited(1));
  first.malloc(10 * kUs, 0x1000, 16);
  first.put(EventKind::Mark, 30 * kUs, 0, 4 | std::uint64_t{1} << 16);
  second.malloc(20 * kUs, 0x2000, 100);
  second.malloc(40 * kUs, 0x3000, 1000);
  pipeline.finish();
  EXPECT_EQ(first.slot.answered, 1u);
  EXPECT_EQ(first.slot.answer[static_cast<std::size_t>(wire::Answer::LiveBytes)], 116u);
  EXPECT_EQ(first.slot.answer[static_cast<std::size_t>(wire::Answer::AllocatedBlocks)], 2u);
  EXPECT_EQ(second.slot.answered, 0u);
  EXPECT_FALSE(desk.is_awaited(2));
}

TEST(AnswerDesk, AQuestionThatGotLostIsNotWaitedForForEver) {
  FakeProgram program;
  AnswerDesk desk(program.memory);
  program.header.questions = 3;
  EXPECT_TRUE(desk.is_awaited(1'000'000'000));
  EXPECT_TRUE(desk.is_awaited(3'900'000'000));
  EXPECT_FALSE(desk.is_awaited(4'100'000'000));
  EXPECT_FALSE(desk.is_awaited(4'100'000'001));
  program.header.questions = 4;
  EXPECT_TRUE(desk.is_awaited(4'200'000'000));
  desk.close();
  EXPECT_EQ(program.header.answers_ended, 1u);
}

TEST(EventBuilder, PoolBlocksAreEventsThatTheHeapDoesNotCount) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread thread(program, 0, 100, 1);
  thread.put(EventKind::MarkText, 5, 0x73'65'64'6f'6e, 0); // "nodes"
  thread.put(EventKind::PoolName, 6, 5, wire::pool_size_field(0, 40));
  thread.malloc(10, 0x1000, 4096);
  thread.put(EventKind::PoolAlloc, 20, 0x1000, wire::pool_size_field(40, 48));
  thread.put(EventKind::PoolFree, 30, 0x1000, wire::pool_size_field(40, 0));
  thread.put(EventKind::PoolAlloc, 40, 0, wire::pool_size_field(40, 48)); // makes no sense
  thread.put(EventKind::PoolFree, 50, 0, wire::pool_size_field(40, 0));
  pipeline.round();
  const auto& events = pipeline.events();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[1].kind, EventKind::PoolAlloc);
  EXPECT_EQ(events[1].size, 48u);
  EXPECT_EQ(pool_of(events[1]), 1u);
  EXPECT_EQ(events[3].number, 4u);
  EXPECT_EQ(events[3].address, 0u);
  EXPECT_EQ(pipeline.list.allocated[2], 2u);
  EXPECT_EQ(pipeline.builder.damaged(), 1u);
  EXPECT_EQ(pipeline.builder.model().totals().live_bytes, 4096u);
  EXPECT_EQ(pipeline.builder.model().totals().events, 4u);
  EXPECT_EQ(pipeline.builder.pools().take(), (std::vector<Pool>{{.number = 1, .name = "nodes"}}));
}

} // namespace
} // namespace heaptape
