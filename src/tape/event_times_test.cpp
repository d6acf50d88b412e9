#include "tape/event_times.h"

#include <gtest/gtest.h>

#include <span>
#include <utility>
#include <vector>

namespace heaptape {
namespace {

// A token's high half says for how many events time stands still, its low half by how much it moves then; 15 means that
// a varint follows, which is added.
class Times {
public:
  Times(std::vector<std::uint8_t> column, std::uint64_t first_us, std::uint64_t last_us)
      : bytes_(std::move(column)), reader_(std::as_bytes(std::span(bytes_))) {
    times_.start(first_us, last_us, reader_);
  }

  std::vector<std::uint64_t> next(std::size_t wanted) {
    std::vector<std::uint64_t> list(times_.read(wanted, reader_));
    for (std::size_t i = 0; i < list.size(); ++i) list[i] = times_[i];
    return list;
  }
  bool at_end() const { return times_.at_end(); }

private:
  std::vector<std::uint8_t> bytes_;
  ByteReader reader_;
  EventTimes times_;
};

using List = std::vector<std::uint64_t>;

TEST(EventTimes, WithoutTokensAllEventsHappenAtOnce) {
  Times times({}, 7, 7);
  EXPECT_EQ(times.next(EventTimes::kBatch), List(EventTimes::kBatch, 7));
  EXPECT_TRUE(times.at_end());
}

TEST(EventTimes, TimeStandsStillAndThenMoves) {
  Times times({0x23, 0x01}, 10, 14);
  EXPECT_EQ(times.next(5), (List{10, 10, 13, 14, 14}));
  EXPECT_TRUE(times.at_end());
}

TEST(EventTimes, ABatchGoesOnWhereTheOneBeforeEnded) {
  Times times({0x23, 0x01}, 10, 14);
  EXPECT_EQ(times.next(1), (List{10}));
  EXPECT_EQ(times.next(2), (List{10, 13}));
  EXPECT_FALSE(times.at_end());
  EXPECT_EQ(times.next(1), (List{14}));
}

TEST(EventTimes, LongStretchesAndLongWaitsHaveNumbersOfTheirOwn) {
  Times times({0xff, 0x05, 0x64}, 0, 115); // still for 15 + 5, then 15 + 100
  List expected(20, 0);
  expected.resize(22, 115);
  EXPECT_EQ(times.next(22), expected);
}

TEST(EventTimes, ATimeBeyondTheLastOneEndsTheBatch) {
  Times times({0x23, 0x01}, 10, 13);
  EXPECT_EQ(times.next(5), (List{10, 10, 13}));
}

} // namespace
} // namespace heaptape
