#include "report/pages/memory_errors.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "report/pages/verify_tape.h"
#include "tape/sample_tape.h"

namespace heaptape {
namespace {

MemoryError overrun() {
  return {.sort = ErrorSort::WriteBehind,
          .found = FoundAt::Release,
          .address = 0x1018,
          .length = 4,
          .block = 0x1000,
          .block_size = 24};
}

TEST(MemoryErrors, ASentenceNamesTheBytesAndTheirBlock) {
  MemoryError error = overrun();
  EXPECT_EQ(error_sentence(error),
            "4 bytes behind the end of the block of 24 bytes at 0x1000 were written, found at a release");
  error.length = 1;
  error.sort = ErrorSort::WriteFreed;
  error.found = FoundAt::Exit;
  EXPECT_EQ(error_sentence(error),
            "1 byte of the block of 24 bytes at 0x1000 was written after its release, found at the program's end");
  error = overrun();
  error.sort = ErrorSort::ReadOutside;
  error.found = FoundAt::Call;
  error.function = "mem\033cpy";
  EXPECT_EQ(error_sentence(error),
            "a read of 4 bytes at 0x1018 outside of the block of 24 bytes at 0x1000, in mem\\x1bcpy");
}

TEST(MemoryErrors, EverySortHasANameAndASentenceOfItsOwn) {
  std::set<std::string> names, sentences;
  for (std::uint8_t sort = 1; sort < kErrorSorts; ++sort) {
    MemoryError error = overrun();
    error.sort = static_cast<ErrorSort>(sort);
    names.insert(error_sort_name(error.sort));
    sentences.insert(error_sentence(error));
  }
  EXPECT_EQ(names.size(), kErrorSorts - 1u);
  EXPECT_EQ(sentences.size(), kErrorSorts - 1u);
  EXPECT_EQ(names.count("other"), 0u);
  std::set<std::string> found;
  for (std::uint8_t at = 0; at < kFoundAts; ++at) found.insert(found_at_name(static_cast<FoundAt>(at)));
  EXPECT_EQ(found.size(), kFoundAts);
}

TEST(MemoryErrors, OneOfALaterVersionIsShownByItsNumber) {
  const MemoryError error{.sort = static_cast<ErrorSort>(200), .found = static_cast<FoundAt>(200)};
  EXPECT_EQ(error_sentence(error), "an error of a sort that this heaptape does not know (200)");
  EXPECT_STREQ(error_sort_name(error.sort), "other");
  EXPECT_STREQ(found_at_name(error.found), "unknown");
}

TEST(MemoryErrors, InfoSaysWhetherTheProgramWasChecked) {
  EXPECT_EQ(checks_text({}), "");
  EXPECT_EQ(checks_text({.mode = "full"}), "full: no memory errors found in the program");
  EXPECT_EQ(checks_text({"check", {overrun()}, 0}), "check: 1 memory error; 'heaptape errors' lists them");
  EXPECT_EQ(checks_text({"check", {overrun()}, 1'000}), "check: 1,001 memory errors; 'heaptape errors' lists them");
}

Verdict verdict_of(const MemoryErrors& errors, std::uint64_t limit = 0) {
  SampleTape sample(0);
  sample.odd = {};
  sample.summary = {};
  sample.errors = errors;
  const std::vector<std::byte> bytes = sample.bytes();
  return verify_tape(TapeReader::from_bytes(bytes, "app.tape").value(), {.limit = limit});
}

TEST(MemoryErrors, VerifyCountsThemAndSaysWhoListsThem) {
  const Verdict verdict = verdict_of({"check", {overrun(), overrun()}, 1});
  EXPECT_FALSE(verdict.is_ok());
  EXPECT_EQ(verdict_text("app.tape", verdict), "3 memory errors; 'heaptape errors app.tape' lists them\n"
                                               "app.tape: 3 memory errors in 0 events\n");
  EXPECT_NE(verdict_json("app.tape", verdict).find(R"("ok": false)"), std::string::npos);
  EXPECT_NE(verdict_json("app.tape", verdict).find(R"("memory_errors": 3)"), std::string::npos);
}

TEST(MemoryErrors, ATapeOfACheckedProgramWithoutErrorsIsOk) {
  const Verdict verdict = verdict_of({.mode = "check"});
  EXPECT_TRUE(verdict.is_ok());
  EXPECT_EQ(verdict_text("app.tape", verdict), "app.tape: ok, 0 events\n");
}

} // namespace
} // namespace heaptape
