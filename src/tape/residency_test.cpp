#include "tape/residency.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

Residency look(std::uint64_t time_us, std::uint64_t rss_bytes) {
  return {.time_us = time_us,
          .rss_bytes = rss_bytes,
          .whole = true,
          .runs = {{0x5000, 0x7000, true}, {0x7000, 0x8000, false}, {0x7f00'0000'0000, 0x7f00'0100'0000, false}}};
}

std::vector<std::byte> payload_of(const Residency* look, std::uint64_t peak) {
  std::vector<std::byte> payload;
  put_residency(look, peak, payload);
  return payload;
}

TEST(Residency, WhatIsWrittenIsReadBack) {
  const Residency written = look(1234, std::uint64_t{17} << 20);
  ResidentFacts facts;
  ASSERT_TRUE(parse_residency(payload_of(&written, std::uint64_t{18} << 20), facts));
  EXPECT_EQ(facts.highest, written);
  EXPECT_EQ(facts.peak_rss_bytes, std::uint64_t{18} << 20);
}

TEST(Residency, TheLookWithMostMemoryIsKeptAndTheHighestPeak) {
  const Residency low = look(1, 100), high = look(2, 300), late = look(3, 200);
  ResidentFacts facts;
  for (const Residency* each : {&low, &high, &late})
    ASSERT_TRUE(parse_residency(payload_of(each, each->rss_bytes), facts));
  ASSERT_TRUE(parse_residency(payload_of(nullptr, 350), facts));
  EXPECT_EQ(facts.highest, high);
  EXPECT_EQ(facts.peak_rss_bytes, 350u);
}

TEST(Residency, ACutOrSenselessPayloadIsRefused) {
  const Residency written = look(1234, std::uint64_t{17} << 20);
  const std::vector<std::byte> whole = payload_of(&written, 0);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ResidentFacts facts;
    EXPECT_FALSE(parse_residency(std::span(whole).first(size), facts)) << size;
    EXPECT_FALSE(facts.highest);
  }
  Residency empty_run = written;
  empty_run.runs[0].end = empty_run.runs[0].begin;
  ResidentFacts facts;
  EXPECT_FALSE(parse_residency(payload_of(&empty_run, 0), facts));
}

} // namespace
} // namespace heaptape
