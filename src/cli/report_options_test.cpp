#include "cli/report_options.h"

#include <gtest/gtest.h>

namespace heaptape::cli {
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
}

TEST(ParseBytes, RefusesWhatIsNoAmount) {
  for (const char* text : {"", "lots", "-1", "5 apples", "1e9", "99999999T"}) {
    const Result<std::uint64_t> parsed = parse_bytes(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.error().sentence.find("is no number of bytes"), std::string::npos);
  }
}

TEST(ParseTime, KnowsTheUnits) {
  EXPECT_EQ(parse_time_us("12.5s"), 12'500'000u);
  EXPECT_EQ(parse_time_us("200ms"), 200'000u);
  EXPECT_EQ(parse_time_us("300us"), 300u);
  EXPECT_EQ(parse_time_us("2min"), 120'000'000u);
  EXPECT_EQ(parse_time_us("12"), std::nullopt);
  EXPECT_EQ(parse_time_us("warm-up"), std::nullopt);
  EXPECT_EQ(parse_time_us("-1s"), std::nullopt);
}

} // namespace
} // namespace heaptape::cli
