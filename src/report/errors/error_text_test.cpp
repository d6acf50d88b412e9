#include "report/errors/error_text.h"

#include <gtest/gtest.h>

#include "report/errors/error_tape_for_test.h"
#include "report/errors/error_words.h"

namespace heaptape {
namespace {

using test::ErrorTape;

std::string text_of(ErrorTape& tape, std::size_t depth = 0) {
  return error_list_text(tape.view(), tape.list(), {.depth = depth, .tape_words = "app.tape"});
}

TEST(ErrorText, AWriteBehindABlockIsToldInFull) {
  ErrorTape tape;
  tape.story.by(1, tape.other.value).make(0x0fc0, 32).by(1, tape.made.value).make(0x1000, 24);
  tape.story.by(1, tape.other.value).make(0x1040, 100).by(1, tape.used.value).end(0x1000);
  MemoryError& error = tape.found(ErrorSort::WriteBehind, FoundAt::Release, 4, 0x1000, 24);
  error.bytes = std::string("AB\0\n", 4);
  error.expected = 0xfd;
  EXPECT_EQ(text_of(tape), R"(#1  Invalid write: 4 bytes behind the end of a block of 24 bytes
    found when the block was released, after event 4 at 0.000040 s, by thread 1 (first)
    written after event 2 (its allocation, 0.000020 s) and before event 5 (0.000040 s)
    0x1018 is 0 bytes behind a block of 24 bytes at 0x1000
    there now: 41 42 00 0a  "AB.."; each should be fd
    found here (this call only noticed it, and is not to blame):
      #0  use   use it.cpp:5
      #1  main  main.cpp:7
    allocated here (malloc, event 2 at 0.000020 s, thread 1 (first)):
      #0  make  load.cpp:31
      #1  load  load.cpp:12
      #2  main  main.cpp:7
    block before: 32 bytes at 0xfc0, 32 bytes away, of other program
    block behind: 100 bytes at 0x1040, 40 bytes away, of other program

The program ran with checks (mode check): wrong releases, and writes outside of blocks and into released ones.
'heaptape errors --gen-suppressions app.tape' shows how to leave errors out.
ERROR SUMMARY: 1 error from 1 context (suppressed: 0 from 0)
)");
}

TEST(ErrorText, StacksEndAtTheDepthThatWasAskedFor) {
  ErrorTape tape;
  tape.story.by(1, tape.made.value).make(0x1000, 24);
  tape.found(ErrorSort::WriteBefore, FoundAt::Exit, 1, 0x1000, 24);
  const std::string text = text_of(tape, 1);
  EXPECT_NE(text.find("make  load.cpp:31\n      … 2 frames more\n"), text.npos) << text;
  EXPECT_NE(text.find("and before the program ended\n    0xffc is 4 bytes before a block"), text.npos) << text;
  EXPECT_EQ(text.find("found here"), text.npos) << "the program's end is not to blame: " << text;
}

TEST(ErrorText, AsManyErrorsAreShownAsWereAskedForAndAllAreCounted) {
  ErrorTape tape;
  tape.story.by(1, tape.made.value).make(0x1000, 24).by(1, tape.other.value).make(0x2000, 24);
  tape.found(ErrorSort::WriteBehind, FoundAt::Release, 2, 0x1000, 24);
  tape.found(ErrorSort::WriteBehind, FoundAt::Release, 2, 0x2000, 24);
  const std::string text = error_list_text(tape.view(), tape.list(), {.rows = 1});
  EXPECT_EQ(text.find("\n#2  "), text.npos) << text;
  EXPECT_NE(text.find("\n… 1 more; -n shows them\n"), text.npos) << text;
  EXPECT_NE(text.find("ERROR SUMMARY: 2 errors from 2 contexts"), text.npos) << text;
}

TEST(ErrorText, WhereThereIsNothingItSaysWhatWasLookedFor) {
  ErrorTape plain;
  plain.story.make(0x1000, 24);
  EXPECT_EQ(text_of(plain), "No memory errors found.\n"
                            "The program ran without checks: only wrong releases are known. Writes outside of blocks "
                            "were not looked for; 'heaptape check -- PROGRAM' does.\n"
                            "ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)\n");
  ErrorTape checked;
  checked.story.make(0x1000, 24);
  checked.errors.mode = "full";
  checked.errors.left_out = 3;
  const std::string text = text_of(checked);
  EXPECT_NE(text.find("The program ran with checks (mode full)"), text.npos) << text;
  EXPECT_NE(text.find("3 more were only counted"), text.npos) << text;
}

TEST(ErrorText, WhoHadTheAddressBeforeIsToldOfAReleasedBlock) {
  ErrorTape tape;
  tape.story.by(1, tape.other.value).make(0x1000, 16).end(0x1000);
  tape.story.by(1, tape.made.value).make(0x1000, 24).by(1, tape.dropped.value).end(0x1000);
  tape.found(ErrorSort::WriteFreed, FoundAt::Reuse, 4, 0x1000, 24);
  const std::string text = text_of(tape);
  EXPECT_NE(text.find("written after event 4 (its release, 0.000040 s) and before event 5"), text.npos) << text;
  EXPECT_NE(text.find("before that the address was in:\n      a block of 16 bytes of other program, events 1 to 2\n"),
            text.npos)
      << text;
}

TEST(ErrorText, ThatTheCallWhichFoundAWriteIsNotToBlameIsSaidOnce) {
  ErrorTape tape;
  tape.story.by(1, tape.made.value).make(0x1000, 24).by(1, tape.other.value).make(0x2000, 24);
  tape.found(ErrorSort::WriteBehind, FoundAt::Release, 2, 0x1000, 24);
  tape.found(ErrorSort::WriteBehind, FoundAt::Release, 2, 0x2000, 24);
  const std::string text = text_of(tape);
  const std::size_t first = text.find("found here (this call only noticed it");
  ASSERT_NE(first, text.npos);
  EXPECT_EQ(text.find("only noticed it", text.find("\n#2  ")), text.npos) << text;
  EXPECT_NE(text.find("found here:", first), text.npos) << text;
}

// The headline of one error.
std::string headline(ErrorTape& tape) {
  const ErrorList list = tape.list();
  return list.contexts.size() == 1 ? error_headline(list.contexts[0], tape.view().tape().threads()) : "not one error";
}
std::string headline_of(ErrorSort sort, FoundAt at, bool released = false) {
  ErrorTape tape;
  tape.story.make(0x1000, 24);
  if (released) tape.story.end(0x1000);
  MemoryError& error = tape.found(sort, at, released ? 2 : 1, 0x1000, 24);
  if (at == FoundAt::Call) error.function = "memcpy";
  if (sort == ErrorSort::WrongAlignment) {
    error.length = 64;
    error.given = 16;
  }
  return headline(tape);
}

TEST(ErrorHeadline, OfWhatTheChecksFind) {
  EXPECT_EQ(headline_of(ErrorSort::WriteBehind, FoundAt::Exit),
            "Invalid write: 4 bytes behind the end of a block of 24 bytes");
  EXPECT_EQ(headline_of(ErrorSort::WriteBefore, FoundAt::Exit),
            "Invalid write: 4 bytes before the start of a block of 24 bytes");
  EXPECT_EQ(headline_of(ErrorSort::WriteFreed, FoundAt::Reuse, true),
            "Write into a released block: 4 bytes of a block of 24 bytes");
  EXPECT_EQ(headline_of(ErrorSort::WrongAlignment, FoundAt::Release),
            "Wrong alignment: a block that was made with 64 was released with 16");
  EXPECT_EQ(headline_of(ErrorSort::ReadOutside, FoundAt::Call),
            "Invalid read of 4 bytes in memcpy(): 0 bytes behind the end of a block of 24 bytes");
  EXPECT_EQ(headline_of(ErrorSort::WriteOutside, FoundAt::Access),
            "Invalid write of 4 bytes: 0 bytes behind the end of a block of 24 bytes");
  EXPECT_EQ(headline_of(ErrorSort::ReadFreed, FoundAt::Access, true),
            "Invalid read of 4 bytes: in a released block of 24 bytes");
  EXPECT_EQ(headline_of(ErrorSort::WriteIntoFreed, FoundAt::Call, true),
            "Invalid write of 4 bytes in memcpy(): in a released block of 24 bytes");
}

TEST(ErrorHeadline, OfWhatReallocCutOff) {
  ErrorTape tape;
  tape.story.make(0x1000, 64).move(0x1000, 0x1000, 24);
  tape.found(ErrorSort::WriteFreed, FoundAt::Exit, 2, 0x1000, 24).address = 0x1020;
  EXPECT_EQ(headline(tape), "Write into what realloc had cut off: 4 bytes behind a block that now has 24 bytes");
}

TEST(ErrorHeadline, OfASortThatANewerVersionKnows) {
  EXPECT_EQ(headline_of(static_cast<ErrorSort>(200), FoundAt::Exit),
            "A memory error of a sort that only a newer heaptape knows");
}

std::string headline_of_release(OddKind kind, std::uint64_t address, EventKind call = EventKind::Free,
                                bool released = false) {
  ErrorTape tape;
  tape.program.add_module("/usr/lib/libdata.so");
  tape.errors.mode = "check";
  tape.story.make(0x1000, 24);
  if (released) tape.story.end(0x1000);
  const std::uint64_t event = released ? 3 : 2;
  tape.story.end(address);
  OddCall& odd = tape.release(kind, event, address);
  odd.call = call;
  if (kind == OddKind::Mismatch || kind == OddKind::WrongSize) {
    odd.maker = 1;
    odd.block_size = 24;
    odd.family = Family::NewArray;
    odd.size = 8;
  }
  return headline(tape);
}

TEST(ErrorHeadline, OfWrongReleases) {
  EXPECT_EQ(headline_of_release(OddKind::NotLive, 0x1000, EventKind::Free, true), "Double free of a block of 24 bytes");
  EXPECT_EQ(headline_of_release(OddKind::NotLive, 0x1000, EventKind::Realloc, true),
            "Invalid realloc of a released block of 24 bytes");
  EXPECT_EQ(headline_of_release(OddKind::NotLive, 0x1008), "Invalid free: 8 bytes into a block of 24 bytes");
  EXPECT_EQ(headline_of_release(OddKind::NotLive, 0x7ffc'ffff'ff00),
            "Invalid free of memory on the stack of thread 1 (first)");
  EXPECT_EQ(headline_of_release(OddKind::NotLive, 0x20'0100), "Invalid free of static memory in libdata.so");
  EXPECT_EQ(headline_of_release(OddKind::NotLive, 0x5000'0000),
            "Invalid free of a foreign pointer: no block was ever made at it");
  EXPECT_EQ(headline_of_release(OddKind::Mismatch, 0x1000, EventKind::Delete),
            "Mismatched free: made by new[], released by delete");
  EXPECT_EQ(headline_of_release(OddKind::WrongSize, 0x1000, EventKind::Delete),
            "Wrong size: a block of 24 bytes was released as one of 8 bytes");
}

} // namespace
} // namespace heaptape
