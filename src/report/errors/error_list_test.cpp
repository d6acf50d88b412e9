#include "report/errors/error_list.h"

#include <gtest/gtest.h>

#include "report/errors/error_tape_for_test.h"
#include "report/errors/make_suppressions.h"

namespace heaptape {
namespace {

using test::ErrorTape;
using Counts = std::vector<std::pair<ErrorKind, std::uint64_t>>;

Counts counts(const ErrorList& list) {
  Counts found;
  for (const ErrorContext& error : list.contexts) found.emplace_back(error.kind, error.count);
  return found;
}

// Two blocks of one stack and one of another, each of which was written behind.
void three_overflows(ErrorTape& tape) {
  tape.story.by(1, tape.made.value).make(0x1000, 24).make(0x2000, 24).by(1, tape.other.value).make(0x3000, 24);
  tape.found(ErrorSort::WriteBehind, FoundAt::Release, 3, 0x1000, 24);
  tape.found(ErrorSort::WriteBehind, FoundAt::Release, 3, 0x3000, 24);
  tape.found(ErrorSort::WriteBehind, FoundAt::Release, 3, 0x2000, 24);
}

TEST(ErrorList, ErrorsOfOneCallAboutBlocksOfOneOriginAreOneContext) {
  ErrorTape tape;
  three_overflows(tape);
  const ErrorList list = tape.list();
  EXPECT_EQ(counts(list), (Counts{{ErrorKind::WriteBehind, 2}, {ErrorKind::WriteBehind, 1}}));
  EXPECT_EQ(list.errors, 3u);
  EXPECT_EQ(list.contexts[1].number, 2u);
  EXPECT_EQ(list.contexts[1].block->owner.stack, tape.other);
}

TEST(ErrorList, AWriteIntoAReleasedBlockIsAlsoKnownByWhoReleasedIt) {
  ErrorTape tape;
  tape.story.by(1, tape.made.value).make(0x1000, 24).make(0x2000, 24);
  tape.story.by(1, tape.dropped.value).end(0x1000).by(1, tape.other.value).end(0x2000);
  tape.found(ErrorSort::WriteFreed, FoundAt::Reuse, 4, 0x1000, 24);
  tape.found(ErrorSort::WriteFreed, FoundAt::Reuse, 4, 0x2000, 24);
  const ErrorList list = tape.list();
  ASSERT_EQ(list.contexts.size(), 2u);
  EXPECT_EQ(list.contexts[0].block->ender.stack, tape.dropped);
  EXPECT_EQ(list.contexts[1].block->ender.stack, tape.other);
}

TEST(ErrorList, WhatTheChecksFoundAndWrongReleasesStandInTheOrderOfTheEvents) {
  ErrorTape tape;
  tape.story.by(1, tape.made.value).make(0x1000, 24).by(1, tape.dropped.value).end(0x1000).end(0x1000);
  tape.release(OddKind::NotLive, 3, 0x1000);
  tape.found(ErrorSort::WriteBehind, FoundAt::Release, 2, 0x1000, 24);
  const ErrorList list = tape.list();
  ASSERT_EQ(counts(list), (Counts{{ErrorKind::WriteBehind, 1}, {ErrorKind::DoubleFree, 1}}));
  EXPECT_EQ(list.contexts[1].block->owner.stack, tape.made);
  EXPECT_EQ(list.contexts[1].block->end_event, 2u) << "the first release, not the second";
  EXPECT_EQ(list.contexts[1].found.block_size, 24u);
}

TEST(ErrorList, TheBlockIsTheLastOfThoseThatHadTheAddress) {
  ErrorTape tape;
  tape.story.by(1, tape.other.value).make(0x1000, 16).end(0x1000);
  tape.story.by(1, tape.made.value).make(0x1000, 24).by(1, tape.dropped.value).end(0x1000).end(0x1000);
  tape.release(OddKind::NotLive, 5, 0x1000);
  const ErrorList list = tape.list();
  ASSERT_EQ(counts(list), (Counts{{ErrorKind::DoubleFree, 1}}));
  EXPECT_EQ(list.contexts[0].found.block_size, 24u);
  EXPECT_EQ(list.contexts[0].block->event, 3u);
  ASSERT_EQ(list.contexts[0].former.size(), 1u);
  EXPECT_EQ(list.contexts[0].former[0].event, 1u);
}

TEST(ErrorList, AReleaseOfWhatIsNotKnownIsAnErrorOnlyWhereEverythingWasRecorded) {
  ErrorTape plain;
  plain.story.make(0x1000, 24).end(0x5000);
  plain.release(OddKind::NotLive, 2, 0x5000);
  EXPECT_FALSE(plain.list().checked);
  EXPECT_EQ(counts(plain.list()), Counts{});

  ErrorTape checked;
  checked.story.make(0x1000, 24).end(0x5000);
  checked.release(OddKind::NotLive, 2, 0x5000);
  checked.errors.mode = "check";
  EXPECT_TRUE(checked.list().checked);
  EXPECT_EQ(counts(checked.list()), (Counts{{ErrorKind::FreeOfForeign, 1}}));
}

TEST(ErrorList, AnAllocationThatFailedIsNotAnError) {
  ErrorTape tape;
  tape.story.make(0x1000, 24);
  tape.release(OddKind::Failed, 1, 0).size = 1 << 30;
  EXPECT_EQ(counts(tape.list()), Counts{});
}

TEST(ErrorList, ABlockThatIsNotOnTheTapeHasNoOwner) {
  ErrorTape tape;
  tape.story.make(0x1000, 64).end(0x1000);
  tape.found(ErrorSort::WriteBehind, FoundAt::Exit, 2, 0x1010, 24);
  const ErrorList list = tape.list();
  ASSERT_EQ(list.contexts.size(), 1u);
  EXPECT_FALSE(list.contexts[0].block);
  ASSERT_EQ(list.contexts[0].former.size(), 1u);
  EXPECT_EQ(list.contexts[0].former[0].address, 0x1000u);
}

TEST(ErrorList, ManyErrorsOfOneCallAreCountedWithItsFirst) {
  ErrorTape tape;
  constexpr std::uint64_t kBlocks = 1000;
  for (std::uint64_t i = 0; i < kBlocks; ++i)
    tape.story.by(1, i % 2 == 0 ? tape.made.value : tape.other.value).make(0x10000 + 64 * i, 24);
  for (std::uint64_t i = 0; i < kBlocks; ++i)
    tape.found(ErrorSort::WriteBehind, FoundAt::Exit, kBlocks, 0x10000 + 64 * i, 24);
  const ErrorList list = tape.list();
  EXPECT_EQ(counts(list), (Counts{{ErrorKind::WriteBehind, 900}, {ErrorKind::WriteBehind, 100}}));
}

TEST(ErrorList, SuppressedErrorsAreCountedAndNotListed) {
  ErrorTape tape;
  three_overflows(tape);
  Suppressions known;
  ASSERT_TRUE(known.add("{\n by its maker\n Memcheck:Addr8\n fun:malloc\n fun:make\n fun:load\n}\n", "known").ok());
  const ErrorList list = tape.list(&known);
  EXPECT_EQ(counts(list), (Counts{{ErrorKind::WriteBehind, 1}}));
  EXPECT_EQ(list.contexts[0].number, 1u);
  EXPECT_EQ(list.errors, 1u);
  EXPECT_EQ(list.suppressed_errors, 2u);
  EXPECT_EQ(list.suppressed_contexts, 1u);
  EXPECT_EQ(known.entries()[0].errors, 2u);
}

TEST(ErrorList, AnEntryIsAboutItsOwnSortOfErrors) {
  const auto left = [](std::string_view text) {
    ErrorTape tape;
    tape.story.by(1, tape.made.value).make(0x1000, 24).by(1, tape.dropped.value).end(0x1000, EventKind::Delete);
    OddCall& call = tape.release(OddKind::Mismatch, 2, 0x1000);
    call.call = EventKind::Delete;
    call.maker = 1;
    call.block_size = 24;
    call.family = Family::NewArray;
    Suppressions known;
    EXPECT_TRUE(known.add(text, "known").ok());
    return tape.list(&known).errors;
  };
  EXPECT_EQ(left("{\n a\n Memcheck:Free\n fun:drop\n}\n"), 0u);
  EXPECT_EQ(left("{\n a\n Memcheck:Free\n fun:_ZdlPv\n fun:drop\n src:main.cpp:7\n}\n"), 0u);
  EXPECT_EQ(left("{\n a\n Memcheck:Free\n ...\n obj:*/program\n}\n"), 0u);
  EXPECT_EQ(left("alloc_dealloc_mismatch:dro\n"), 0u);
  EXPECT_EQ(left("interceptor_via_fun:main\n"), 0u);
  EXPECT_EQ(left("interceptor_name:^delete$\n"), 0u);
  EXPECT_EQ(left("{\n a\n Memcheck:Free\n fun:make\n}\n"), 1u) << "its maker is not to blame";
  EXPECT_EQ(left("{\n a\n Memcheck:Addr4\n fun:drop\n}\n"), 1u);
  EXPECT_EQ(left("{\n a\n Memcheck:Leak\n fun:drop\n}\n{\n b\n Memcheck:Cond\n fun:drop\n}\nleak:drop\nrace:drop\n"),
            1u);
  EXPECT_EQ(left("interceptor_name:^delete[]$\n"), 1u);
}

TEST(ErrorList, WhatGenSuppressionsSaysIsAcceptedAndLeavesNothing) {
  ErrorTape tape;
  three_overflows(tape);
  tape.story.by(1, tape.dropped.value).end(0x7ffc'ffff'fff0).by(1, tape.used.value).end(0x1000).end(0x1000);
  tape.release(OddKind::NotLive, 4, 0x7ffc'ffff'fff0);
  tape.release(OddKind::NotLive, 6, 0x1000);
  const ErrorList all = tape.list();
  ASSERT_EQ(counts(all), (Counts{{ErrorKind::WriteBehind, 2},
                                 {ErrorKind::WriteBehind, 1},
                                 {ErrorKind::FreeOfStack, 1},
                                 {ErrorKind::DoubleFree, 1}}));
  const std::string text = suppressions_for(tape.view(), all);
  Suppressions known;
  ASSERT_TRUE(known.add(text, "generated").ok()) << text;
  EXPECT_EQ(known.entries().size(), 4u) << text;
  const ErrorList list = tape.list(&known);
  EXPECT_EQ(counts(list), Counts{}) << text;
  EXPECT_EQ(list.suppressed_errors, 5u);
  EXPECT_EQ(list.suppressed_contexts, 4u);
}

TEST(ErrorList, ASuppressionNamesTheMakerOfABlockThatWasWrittenBehind) {
  ErrorTape tape;
  tape.story.by(1, tape.made.value).make(0x1000, 24);
  tape.found(ErrorSort::WriteBehind, FoundAt::Exit, 1, 0x1000, 24);
  EXPECT_EQ(suppressions_for(tape.view(), tape.list()),
            "{\n   Invalid write: 4 bytes behind the end of a block of 24 bytes\n   Memcheck:Addr4\n   fun:make\n"
            "   fun:load\n   fun:main\n}\n");
}

TEST(ErrorList, AnErrorWithoutAStackGetsNoEntryThatMatchesEverything) {
  ErrorTape tape;
  tape.story.by(1, tape.made.value).make(0x1000, 24);
  tape.found(ErrorSort::WriteBehind, FoundAt::Exit, 1, 0x9000, 24).stack = StackId();
  const std::string text = suppressions_for(tape.view(), tape.list());
  EXPECT_TRUE(text.starts_with("# Invalid write")) << text;
  Suppressions known;
  EXPECT_TRUE(known.add(text, "generated").ok() && known.empty());
}

} // namespace
} // namespace heaptape
