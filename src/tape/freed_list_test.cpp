#include "tape/freed_list.h"

#include <gtest/gtest.h>

namespace heaptape::codec {
namespace {

FreedList with(std::uint64_t count) {
  FreedList list{};
  for (std::uint64_t address = 1; address <= count; ++address) list.push(address);
  return list;
}

TEST(FreedList, GivesTheLastOneFirst) {
  FreedList list = with(3);
  for (const std::uint64_t address : {3u, 2u, 1u, 0u}) {
    EXPECT_EQ(list.next(true), address);
    list.pop(true);
  }
}

TEST(FreedList, PutsTheEighthBehindTheCacheAndTakesItAfterTheCache) {
  FreedList list = with(8);
  EXPECT_EQ(list.next(true), 7u);
  EXPECT_EQ(list.next(false), 8u);
  for (int i = 0; i < 7; ++i) list.pop(true);
  EXPECT_EQ(list.next(true), 8u);
}

TEST(FreedList, MovesTheRestOfTheQueueIntoTheCacheWhenOneComesFromThere) {
  FreedList list = with(10);
  for (int i = 0; i < 7; ++i) list.pop(true);
  list.pop(true); // 10, from the queue; 9 and 8 move
  EXPECT_EQ(list.cached, 2u);
  EXPECT_EQ(list.queued, 0u);
  EXPECT_EQ(list.next(true), 8u);
}

TEST(FreedList, ForgetsTheOldestOfTheQueueWhenItIsFull) {
  const FreedList list = with(7 + 9 + 1);
  EXPECT_EQ(list.find(8), FreedList::kNotFound);
  EXPECT_EQ(list.find(9), 7u + 8);
}

TEST(FreedList, TakesOutWhatItFinds) {
  for (std::uint64_t address = 1; address <= 12; ++address) {
    FreedList list = with(12);
    const std::uint32_t position = list.find(address);
    ASSERT_LT(position, list.cached + list.queued);
    EXPECT_EQ(list.take(position), address);
    EXPECT_EQ(list.find(address), FreedList::kNotFound);
    EXPECT_EQ(list.cached + list.queued, 11u);
  }
}

TEST(FreedList, AnEmptyOneStaysEmpty) {
  FreedList list{};
  list.pop(true);
  list.pop(false);
  EXPECT_EQ(list.next(true), 0u);
  EXPECT_EQ(list.find(0), FreedList::kNotFound);
}

} // namespace
} // namespace heaptape::codec
