#include "report/text/time_text.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

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
} // namespace heaptape
