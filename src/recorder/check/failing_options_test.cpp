#include "recorder/check/failing_options.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "recorder/check/options.h"

namespace heaptape::recorder {
namespace {

// What the text says, or nothing chosen when it cannot be read.
FailingOptions options_of(const char* text) {
  CheckOptions options;
  EXPECT_TRUE(read_check_options(text, options)) << text;
  EXPECT_TRUE(options.fail) << text;
  return g_failing;
}

std::vector<std::uint64_t> chosen_of(const FailingOptions& options, std::uint64_t count) {
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t number = 1; number <= count; ++number) {
    if (is_chosen(options, number)) chosen.push_back(number);
  }
  return chosen;
}

using Numbers = std::vector<std::uint64_t>;

TEST(Failing, WithoutAChoiceAllFailThatMeetTheConditions) {
  EXPECT_EQ(chosen_of(options_of("fail,above=10"), 4), (Numbers{1, 2, 3, 4}));
}

TEST(Failing, TheNthFailsOnce) { EXPECT_EQ(chosen_of(options_of("fail,nth=3"), 10), (Numbers{3})); }

TEST(Failing, TheZerothIsNone) { EXPECT_EQ(chosen_of(options_of("fail,nth=0"), 10), (Numbers{})); }

TEST(Failing, EveryThirdFails) { EXPECT_EQ(chosen_of(options_of("fail,every=3"), 10), (Numbers{3, 6, 9})); }

TEST(Failing, AProbabilityIsMetAndItsSeedRepeatsIt) {
  const Numbers first = chosen_of(options_of("fail,chance=429496730,seed=1"), 100'000); // a tenth
  EXPECT_GT(first.size(), 9'500u);
  EXPECT_LT(first.size(), 10'500u);
  EXPECT_EQ(chosen_of(options_of("fail,chance=429496730,seed=1"), 100'000), first);
  EXPECT_NE(chosen_of(options_of("fail,chance=429496730,seed=2"), 100'000), first);
  EXPECT_EQ(chosen_of(options_of("fail,chance=4294967296,seed=7"), 50).size(), 50u);
}

TEST(Failing, SizesAreMeantBetweenTheirLimits) {
  const FailingOptions options = options_of("fail,above=10,below=13");
  EXPECT_FALSE(is_size_meant(options, 10));
  EXPECT_TRUE(is_size_meant(options, 11));
  EXPECT_TRUE(is_size_meant(options, 12));
  EXPECT_FALSE(is_size_meant(options, 13));
  EXPECT_TRUE(is_size_meant(options_of("fail,nth=1"), 1));
}

TEST(Failing, AnObjectIsCalledByTheLastPartOfItsPath) {
  EXPECT_TRUE(is_object_called("/usr/lib/libssl.so.3", "libssl"));
  EXPECT_TRUE(is_object_called("/usr/lib/libssl.so.3", "libssl.so"));
  EXPECT_TRUE(is_object_called("/usr/lib/libssl.so.3", "libssl.so.3"));
  EXPECT_TRUE(is_object_called("server", "server"));
  EXPECT_FALSE(is_object_called("/usr/lib/libssl3.so", "libssl"));
  EXPECT_FALSE(is_object_called("/usr/libssl/libcrypto.so", "libssl"));
  EXPECT_FALSE(is_object_called("", "libssl"));
}

TEST(Failing, AFunctionIsARangeOfAnObject) {
  const FailingOptions options = options_of("fail,from=1a0-1ff,from=20-30@libx.so.1,in=libx");
  ASSERT_EQ(options.range_count, 2u);
  EXPECT_EQ(options.ranges[0].begin, 0x1a0u);
  EXPECT_EQ(options.ranges[0].end, 0x1ffu);
  EXPECT_STREQ(options.ranges[0].object, "");
  EXPECT_STREQ(options.ranges[1].object, "libx.so.1");
  EXPECT_STREQ(options.module, "libx");
}

TEST(Failing, WhatIsReadBeforeLeavesNothingBehind) {
  (void)options_of("fail,every=2,above=100,in=libx,from=1-2");
  const FailingOptions options = options_of("fail,nth=1");
  EXPECT_EQ(options.above, 0u);
  EXPECT_EQ(options.range_count, 0u);
  EXPECT_STREQ(options.module, "");
}

TEST(Failing, TextsThatMakeNoSenseAreRefused) {
  CheckOptions options;
  const char* const kLong = "fail,in=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
  for (const char* text :
       {"fail,nth=", "fail,nth=x", "fail,every=0", "fail,in=", "fail,from=5", "fail,from=5-4", "fail,from=4-5@",
        "fail,from=4-5x", "fail,sometimes", "check,nth=1", "full,every=2", "fails", kLong})
    EXPECT_FALSE(read_check_options(text, options)) << text;
}

} // namespace
} // namespace heaptape::recorder
