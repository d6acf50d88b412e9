#include "analysis/moment/totals_at.h"

#include <gtest/gtest.h>

#include "analysis/index/story_for_test.h"
#include "analysis/index/tape_for_test.h"

namespace heaptape {
namespace {

TEST(TotalsAt, EachMomentHasTheTotalsAfterItsEvent) {
  const test::SmallTape file(test::Story().make(0x1000, 10).make(0x2000, 20).end(0x1000).make(0x3000, 5).events(), 1,
                             2);
  std::vector<Damage> damage;
  const std::vector<std::uint64_t> events{0, 1, 2, 2, 3, 4, 99};
  const std::vector<HeapTotals> totals = totals_at(file.open(), events, {}, damage);
  ASSERT_EQ(totals.size(), events.size());
  std::vector<std::uint64_t> live, allocated;
  for (const HeapTotals& each : totals) {
    live.push_back(each.live_bytes);
    allocated.push_back(each.allocated_bytes);
  }
  EXPECT_EQ(live, (std::vector<std::uint64_t>{0, 10, 30, 30, 20, 25, 25}));
  EXPECT_EQ(allocated, (std::vector<std::uint64_t>{0, 10, 30, 30, 30, 35, 35}));
  EXPECT_TRUE(damage.empty());
}

TEST(TotalsAt, ATapeWithoutEventsHasNothingAtAnyMoment) {
  const test::SmallTape file({}, 1, 2);
  std::vector<Damage> damage;
  const std::vector<std::uint64_t> events{0, 7};
  EXPECT_EQ(totals_at(file.open(), events, {}, damage), std::vector<HeapTotals>(2));
}

} // namespace
} // namespace heaptape
