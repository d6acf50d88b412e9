#include "base/number_text.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(bytes("9007199254740993"), 9'007'199'254'740'993u) << "no double has this value";
}

TEST(ParseBytes, RefusesWhatIsNoAmount) {
  for (const char* text : {"", "lots", "-1", "5 apples", "1e9", "99999999T"}) {
    const Result<std::uint64_t> parsed = parse_bytes(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.error().sentence.find("is no number of bytes"), std::string::npos);
  }
}

} // namespace
} // namespace heaptape
