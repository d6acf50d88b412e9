#include "report/errors/sweep_list.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

using Numbers = std::vector<std::uint64_t>;

TEST(SweepList, TheSameCrashAfterTheSameCallIsOneFinding) {
  SweepList list;
  EXPECT_TRUE(list.add(RunOutcome::Crashed, 3, "SIGSEGV", "malloc of 7 bytes in f", "f\nmain"));
  list.keep("three.tape");
  EXPECT_FALSE(list.add(RunOutcome::SameStatus, 4, "", "malloc of 8 bytes in g", "g\nmain"));
  EXPECT_FALSE(list.add(RunOutcome::Crashed, 7, "SIGSEGV", "malloc of 9 bytes in f", "f\nmain"));
  EXPECT_TRUE(list.add(RunOutcome::Crashed, 8, "SIGABRT", "malloc of 9 bytes in f", "f\nmain"));
  EXPECT_TRUE(list.add(RunOutcome::Crashed, 9, "SIGSEGV", "malloc of 9 bytes in f", "f\nother"));
  ASSERT_EQ(list.findings().size(), 3u);
  EXPECT_EQ(list.findings()[0].numbers, (Numbers{3, 7}));
  EXPECT_EQ(list.findings()[0].call, "malloc of 7 bytes in f");
  EXPECT_EQ(list.findings()[0].tape, "three.tape");
  EXPECT_EQ(list.findings()[1].tape, "");
  EXPECT_EQ(list.runs(), 5u);
  EXPECT_EQ(list.count(RunOutcome::Crashed), 4u);
}

TEST(SweepList, ItsTextNamesEachFindingOnce) {
  SweepList list;
  (void)list.add(RunOutcome::OtherStatus, 1, "", "", "");
  (void)list.add(RunOutcome::Crashed, 2, "SIGSEGV", "malloc of 7 bytes in f", "f");
  list.keep("two.tape");
  (void)list.add(RunOutcome::Crashed, 3, "SIGSEGV", "malloc of 7 bytes in f", "f");
  EXPECT_EQ(sweep_text(list, 4),
            "3 runs with one of 4 allocations failing in each: 0 ended as without a failure, 1 with another exit "
            "status, 2 crashed\n"
            "allocations 2, 3: SIGSEGV after malloc of 7 bytes in f\n"
            "  two.tape\n");
}

TEST(SweepList, NumbersThatFollowEachOtherAreARange) {
  EXPECT_EQ(ranges_text({3, 7, 8, 9, 12, 13}, 5), "3, 7-9, 12, 13");
  EXPECT_EQ(ranges_text({5}, 5), "5");
  EXPECT_EQ(ranges_text({1, 3, 5, 7}, 2), "1, 3 and 2 more");
}

TEST(SweepList, NumbersAreSpreadEvenlyWithTheFirstAndTheLast) {
  EXPECT_EQ(numbers_to_try(3, 10), (Numbers{1, 2, 3}));
  EXPECT_EQ(numbers_to_try(101, 3), (Numbers{1, 51, 101}));
  EXPECT_EQ(numbers_to_try(100, 1), (Numbers{1}));
  EXPECT_EQ(numbers_to_try(0, 10), (Numbers{}));
  EXPECT_EQ(numbers_to_try(std::uint64_t{1} << 60, 2).back(), std::uint64_t{1} << 60);
}

} // namespace
} // namespace heaptape
