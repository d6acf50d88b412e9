#include "tape/crash_codec.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

Crash sample() {
  Crash crash{.signal = 11,
              .code = -6,
              .ended_by = 6,
              .was_handled = true,
              .event = 7,
              .time_us = 12,
              .thread = ThreadId(2),
              .stack = StackId(3),
              .address = 0x18,
              .error = 4,
              .trap = 14,
              .frames = 52'000,
              .bytes = std::string("\x48\x8b\x40\x18\0\0", 6)};
  for (std::size_t i = 0; i < crash.registers.size(); ++i) crash.registers[i] = ~std::uint64_t{0} - i;
  return crash;
}

TEST(CrashCodec, KeepsEveryFieldOfSeveral) {
  const std::vector<Crash> crashes{sample(), {.signal = 6}};
  std::vector<std::byte> payload;
  put_crashes(crashes, payload);
  std::vector<Crash> read;
  ASSERT_TRUE(parse_crashes(payload, read));
  EXPECT_EQ(read, crashes);
}

TEST(CrashCodec, ACutPayloadMakesNoSense) {
  const std::vector<Crash> crashes{sample()};
  std::vector<std::byte> payload;
  put_crashes(crashes, payload);
  for (std::size_t size = 0; size < payload.size(); ++size) {
    std::vector<Crash> read;
    EXPECT_FALSE(parse_crashes(std::span(payload).first(size), read)) << size;
    EXPECT_TRUE(read.empty());
  }
}

TEST(CrashCodec, MoreBytesOfCodeThanAnInstructionHasAreCut) {
  Crash crash = sample();
  crash.bytes = std::string(1000, 'x');
  std::vector<std::byte> payload;
  put_crashes(std::span(&crash, 1), payload);
  std::vector<Crash> read;
  ASSERT_TRUE(parse_crashes(payload, read));
  EXPECT_EQ(read.at(0).bytes, std::string(wire::kCrashCodeBytes, 'x'));
}

std::optional<Summary> ended(Ending ending, std::int32_t detail) {
  Summary summary;
  summary.ending = ending;
  summary.ending_detail = detail;
  return summary;
}

TEST(DeadlyCrash, IsTheFirstOneThatFitsTheEnd) {
  const std::vector<Crash> crashes{{.signal = 4}, {.signal = 11, .ended_by = 6}, {.signal = 6}};
  EXPECT_EQ(deadly_crash(crashes, ended(Ending::Killed, 6)), &crashes[1]);
  EXPECT_EQ(deadly_crash(crashes, ended(Ending::Killed, 11)), nullptr);
  EXPECT_EQ(deadly_crash({}, ended(Ending::Killed, 6)), nullptr);
}

TEST(DeadlyCrash, AProgramThatWentOnDidNotCrash) {
  const std::vector<Crash> crashes{{.signal = 11}};
  EXPECT_EQ(deadly_crash(crashes, ended(Ending::Exited, 139)), nullptr);
  EXPECT_EQ(deadly_crash(crashes, ended(Ending::Replaced, 0)), nullptr);
}

TEST(DeadlyCrash, IsBelievedWhereTheEndIsNotKnown) {
  const std::vector<Crash> crashes{{.signal = 11}};
  EXPECT_EQ(deadly_crash(crashes, ended(Ending::Unknown, 0)), &crashes[0]);
  EXPECT_EQ(deadly_crash(crashes, std::nullopt), &crashes[0]);
}

} // namespace
} // namespace heaptape
