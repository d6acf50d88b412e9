#include "tape/event_times.h"

#include <algorithm>

namespace heaptape {

void EventTimes::start(std::uint64_t first_us, std::uint64_t last_us, ByteReader& column) {
  time_us_ = first_us;
  last_us_ = last_us;
  read_token(column);
}

void EventTimes::read_token(ByteReader& column) {
  if (column.remaining() == 0) {
    still_ = ~std::uint64_t{0};
    next_tick_ = 0;
    return;
  }
  const std::uint8_t token = column.u8();
  still_ = token >> 4u;
  next_tick_ = token & 15u;
  if (still_ == 15) still_ += column.varint();
  if (next_tick_ == 15) next_tick_ += column.varint();
}

std::size_t EventTimes::read(std::size_t wanted, ByteReader& column) {
  std::size_t at = 0;
  for (;;) {
    // Most stretches are short: a fixed number of stores is quicker than a loop with an unpredictable end.
    std::uint64_t* const first = times_.data() + at;
    for (std::size_t i = 0; i < kUsualStretch; ++i) first[i] = time_us_;
    const std::uint64_t left = wanted - at;
    const auto stretch = static_cast<std::size_t>(still_ < left ? still_ : left);
    if (stretch > kUsualStretch) [[unlikely]]
      std::fill(first + kUsualStretch, first + stretch, time_us_);
    at += stretch;
    still_ -= stretch;
    if (at == wanted) return at;
    if (next_tick_ > last_us_ - time_us_) return at;
    time_us_ += next_tick_;
    times_[at++] = time_us_;
    read_token(column);
  }
}

} // namespace heaptape
