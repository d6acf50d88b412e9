#include "cli/quantities.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace heaptape::cli {
namespace {

TEST(PositionText, PlainNumberIsAnEvent) { EXPECT_EQ(parse_position("1234").value(), (Position{false, 1234})); }

TEST(PositionText, NumberWithAUnitIsATime) {
  EXPECT_EQ(parse_position("12.5s").value(), (Position{true, 12'500'000}));
  EXPECT_EQ(parse_position("200ms").value(), (Position{true, 200'000}));
  EXPECT_EQ(parse_position("300us").value(), (Position{true, 300}));
  EXPECT_EQ(parse_position("300µs").value(), (Position{true, 300}));
  EXPECT_EQ(parse_position("2min").value(), (Position{true, 120'000'000}));
  EXPECT_EQ(parse_position("0.1s").value(), (Position{true, 100'000}));
}

TEST(PositionText, NonsenseIsRefusedWithAnExample) {
  for (const char* text : {"", "s", "-1s", "1.5", "1h2", "5 s", "nan s", "99999999999999999999", "1e30s"}) {
    EXPECT_FALSE(parse_position(text)) << text;
  }
  EXPECT_NE(parse_position("x").error().sentence.find("12.5s"), std::string::npos);
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

TEST(PrintableText, ControlCharactersLoseTheirPower) {
  EXPECT_EQ(printable("naïve \x1b[31m\n"), "naïve \\x1b[31m\\x0a");
}

TEST(LocalTimeText, SaysTheZone) {
  ::setenv("TZ", "Etc/GMT-2", 1);
  ::tzset();
  EXPECT_EQ(local_time_text(1'700'000'000'000'000'000), "2023-11-15 00:13:20 +0200");
}

} // namespace
} // namespace heaptape::cli
