#include "base/number_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace heaptape {
namespace {

std::uint64_t bytes(const std::string& text) {
  const Result<std::uint64_t> parsed = parse_bytes(text);
  return parsed ? parsed.value() : ~std::uint64_t{0};
}

TEST(ParseBytes, TakesNumbersWithAndWithoutUnits) {
  EXPECT_EQ(bytes("0"), 0u);
  EXPECT_EQ(bytes("4096"), 4096u);
  EXPECT_EQ(bytes("12kB"), 12'000u);
  EXPECT_EQ(bytes("200M"), 200'000'000u);
  EXPECT_EQ(bytes("1.5GiB"), 1'610'612'736u);
  EXPECT_EQ(bytes("2Ki"), 2048u);
  EXPECT_EQ(bytes("1.5m"), 1'500'000u);
  EXPECT_EQ(bytes("2GB"), 2'000'000'000u);
  EXPECT_EQ(bytes("10B"), 10u);
  EXPECT_EQ(bytes("9007199254740993"), 9'007'199'254'740'993u) << "no double has this value";
}

TEST(ParseBytes, RefusesWhatIsNotAnAmount) {
  for (const char* text :
       {"", "G", "lots", "-1", "1X", "1 G", "1GG", "1i", "1iB", "nan", "5 apples", "1e9", "99999999T"}) {
    const Result<std::uint64_t> parsed = parse_bytes(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.error().sentence.find("is not a number of bytes"), std::string::npos);
  }
}

TEST(NumberText, ThousandsAreSeparated) {
  EXPECT_EQ(with_separators(0), "0");
  EXPECT_EQ(with_separators(999), "999");
  EXPECT_EQ(with_separators(1'000), "1,000");
  EXPECT_EQ(with_separators(1'234'567), "1,234,567");
}

TEST(NumberText, CountsAgreeWithTheirNoun) {
  EXPECT_EQ(count_of(1, "block"), "1 block");
  EXPECT_EQ(count_of(0, "block"), "0 blocks");
  EXPECT_EQ(count_of(2'000, "block"), "2,000 blocks");
}

TEST(BytesText, RoundsToThreeDigitsAndNeverToAThousand) {
  EXPECT_EQ(bytes_text(1), "1 byte");
  EXPECT_EQ(bytes_text(999), "999 bytes");
  EXPECT_EQ(bytes_text(1'000), "1.00 kB");
  EXPECT_EQ(bytes_text(12'345), "12.3 kB");
  EXPECT_EQ(bytes_text(999'960), "1.00 MB");
  EXPECT_EQ(bytes_text(~std::uint64_t{0}), "18.4 EB");
  EXPECT_EQ(exact_bytes_text(12'345), "12.3 kB (12,345 bytes)");
  EXPECT_EQ(exact_bytes_text(45), "45 bytes");
}

TEST(DurationText, UnitFitsTheSize) {
  EXPECT_EQ(duration_text(85), "85 us");
  EXPECT_EQ(duration_text(3'204), "3.20 ms");
  EXPECT_EQ(duration_text(1'234'567), "1.235 s");
  EXPECT_EQ(duration_text(123'456'789), "2 min 3.4 s");
  EXPECT_EQ(duration_text(7'380'000'000), "2 h 3 min");
}

TEST(SecondsText, HasSixPlaces) {
  EXPECT_EQ(seconds_text(0), "0.000000");
  EXPECT_EQ(seconds_text(12'000'250), "12.000250");
}

TEST(LocalTimeText, SaysTheZone) {
  ::setenv("TZ", "Etc/GMT-2", 1);
  ::tzset();
  EXPECT_EQ(local_time_text(1'700'000'000'000'000'000), "2023-11-15 00:13:20 +0200");
}

} // namespace
} // namespace heaptape
