#include "collector/rings/tick_clock.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(TickClock, NanosecondsBecomeMicroseconds) {
  TickClock clock;
  clock.start(false, {5000, 5000}, 5000);
  EXPECT_EQ(clock.to_us(0), 0u);
  EXPECT_EQ(clock.to_us(1'000), 1u);
  EXPECT_EQ(clock.to_us(1'999), 1u);
  EXPECT_EQ(clock.to_us(3600 * kSecond), 3'600'000'000u);
}

TEST(TickClock, TimeZeroIsTheStartOfTheTapeNotOfTheProgram) {
  TickClock clock;
  clock.start(false, {kSecond, kSecond}, kSecond - 7'000'000);
  EXPECT_EQ(clock.to_us(0), 7'000u);
}

TEST(TickClock, TheRateIsMeasuredBetweenStartAndNow) {
  TickClock clock;
  clock.start(true, {1'000'000, 50 * kSecond}, 50 * kSecond);
  clock.calibrate_with({1'000'000 + 2'800'000'000, 51 * kSecond}); // 2.8 GHz
  EXPECT_NEAR(static_cast<double>(clock.to_us(1'400'000'000)), 500'000, 1);
  EXPECT_NEAR(static_cast<double>(clock.to_us(2'800'000'000)), 1'000'000, 1);
  EXPECT_NEAR(static_cast<double>(clock.ticks_of_us(50)), 140'000, 10);
}

TEST(TickClock, ABetterRateNeverTurnsTimeBack) {
  TickClock clock;
  clock.start(true, {0, 0}, 0);
  clock.calibrate_with({1'000, 1'100});
  const std::uint64_t before = clock.to_us(10'000'000);
  clock.calibrate_with({1'000'000'000, 1'000'000'000});
  EXPECT_EQ(clock.to_us(10'000'001), before);
  EXPECT_GT(clock.to_us(20'000'000), before);
}

TEST(TickClock, ReadingsThatMakeNoSenseAreIgnored) {
  TickClock clock;
  clock.start(true, {1000, 1000}, 1000);
  clock.calibrate_with({1000 + 2'000'000, 1000 + 1'000'000}); // 2 GHz
  clock.calibrate_with({500, 2000});                          // before the start
  clock.calibrate_with({5000, 500});
  clock.calibrate_with({1001, 1000 + 3600 * kSecond}); // one tick in an hour
  EXPECT_NEAR(static_cast<double>(clock.to_us(2'000'000)), 1000, 1);
}

TEST(TickClock, AStampFromTheFutureDoesNotMoveTheTime) {
  TickClock clock;
  const ClockReading now = TickClock::read(false);
  clock.start(false, now, now.monotonic_ns);
  clock.believe_until_now();
  EXPECT_EQ(clock.to_us(5'000), 5u);
  EXPECT_EQ(clock.to_us(std::uint64_t{1} << 55), 5u);
  EXPECT_EQ(clock.to_us(7'000), 7u);
}

TEST(TickClock, AStartThatNoClockCanHaveReadIsNotPlausible) {
  constexpr ClockReading kNow{30 * kSecond, 10 * kSecond}; // 3 GHz
  EXPECT_TRUE(is_plausible({27 * kSecond, 9 * kSecond}, kNow));
  EXPECT_TRUE(is_plausible({0, 0}, kNow));
  EXPECT_FALSE(is_plausible({27 * kSecond, 11 * kSecond}, kNow)) << "later than now";
  EXPECT_FALSE(is_plausible({31 * kSecond, 9 * kSecond}, kNow)) << "later than now";
  EXPECT_FALSE(is_plausible({0, 9 * kSecond}, {3000 * kSecond, 10 * kSecond})) << "too fast";
  EXPECT_FALSE(is_plausible({29 * kSecond, 0}, {30 * kSecond, 300 * kSecond})) << "too slow";
}

} // namespace
} // namespace heaptape
