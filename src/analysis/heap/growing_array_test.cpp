#include "analysis/heap/growing_array.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace heaptape {
namespace {

struct Row {
  std::uint64_t number;
  std::uint64_t zero[5];
};

TEST(GrowingArray, HoldsWhatWasPutInHoweverFarItGrows) {
  GrowingArray<Row> rows;
  constexpr std::uint64_t kRows = 300'000;
  for (std::uint64_t i = 0; i < kRows; ++i) {
    Row& row = rows.add();
    ASSERT_EQ(row.number | row.zero[0] | row.zero[4], 0u) << "new ones are zero";
    row.number = i + 1;
  }
  ASSERT_EQ(rows.size(), kRows);
  for (std::uint64_t i = 0; i < kRows; ++i) ASSERT_EQ(rows[i].number, i + 1);
}

TEST(GrowingArray, GivesTheLastOneBackUntilNoneIsLeftAndCanBeginAgain) {
  GrowingArray<Row> rows;
  for (std::uint64_t i = 0; i < 200'000; ++i) rows.add().number = i;
  for (std::uint64_t i = 200'000; i > 0; --i) ASSERT_EQ(rows.take_last().number, i - 1);
  EXPECT_EQ(rows.size(), 0u);
  EXPECT_EQ(rows.add().number, 0u) << "a place that was used before is zero again";
}

TEST(GrowingArray, MovesWithItsContents) {
  GrowingArray<Row> rows;
  rows.add().number = 7;
  const GrowingArray<Row> moved = std::move(rows);
  EXPECT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved[0].number, 7u);
}

} // namespace
} // namespace heaptape
