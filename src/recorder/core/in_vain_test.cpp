#include "recorder/core/in_vain.h"

#include <gtest/gtest.h>

namespace heaptape::recorder {
namespace {

constexpr std::uint64_t kStart = 5'000'000'000, kLate = kStart + InVain::kLongestNs;
constexpr std::uint32_t kRounds = 7, kManyRounds = kRounds + InVain::kFewestRounds;

TEST(InVain, ACollectorThatGoesRoundAndNeverTakesAnythingIsWaitedForTenSeconds) {
  InVain in_vain;
  EXPECT_FALSE(in_vain(kStart, 42, kRounds, false));
  EXPECT_FALSE(in_vain(kLate - 1, 42, kManyRounds, false));
  EXPECT_TRUE(in_vain(kLate, 42, kManyRounds, false));
}

TEST(InVain, ACollectorThatDoesNotGetToRunIsWaitedForHoweverLong) {
  InVain in_vain;
  EXPECT_FALSE(in_vain(kStart, 42, kRounds, false));
  EXPECT_FALSE(in_vain(kLate, 42, kRounds, false));
  EXPECT_FALSE(in_vain(1000 * kLate, 42, kManyRounds - 1, false));
}

TEST(InVain, WhenSomethingWasTakenTheWaitBeginsAnew) {
  InVain in_vain;
  EXPECT_FALSE(in_vain(kStart, 42, kRounds, false));
  EXPECT_FALSE(in_vain(kLate, 43, kManyRounds, false));
  EXPECT_FALSE(in_vain(kLate + 1, 43, kManyRounds, false));
  EXPECT_FALSE(in_vain(kLate + InVain::kLongestNs, 43, kManyRounds + InVain::kFewestRounds - 1, false));
  EXPECT_TRUE(in_vain(kLate + InVain::kLongestNs, 43, kManyRounds + InVain::kFewestRounds, false));
}

TEST(InVain, ACollectorWhoseDeathWouldNotBeSeenIsNotWaitedForLongerThanTenSeconds) {
  InVain in_vain;
  EXPECT_FALSE(in_vain(kStart, 42, kRounds, true));
  EXPECT_FALSE(in_vain(kLate - 1, 42, kRounds, true));
  EXPECT_TRUE(in_vain(kLate, 42, kRounds, true));
}

TEST(InVain, TheCountOfRoundsMayWrap) {
  InVain in_vain;
  EXPECT_FALSE(in_vain(kStart, 42, 0xffff'fff0u, false));
  EXPECT_FALSE(in_vain(kLate, 42, 0xffff'fff1u, false));
  EXPECT_TRUE(in_vain(kLate, 42, 0xffff'fff0u + InVain::kFewestRounds, false));
}

} // namespace
} // namespace heaptape::recorder
