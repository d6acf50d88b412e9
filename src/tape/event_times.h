// When the events of an EVENTS chunk happened: column Times, unpacked a batch at a time. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/byte_cursor.h"

namespace heaptape {

class EventTimes {
public:
  static constexpr std::size_t kBatch = 128;

  // Begins a chunk. `column` is to be the same reader in every call for it.
  void start(std::uint64_t first_us, std::uint64_t last_us, ByteReader& column);

  // Works out the next times and says how many: those wanted, which are at most kBatch, or fewer when a time would lie
  // beyond the chunk's last one, which is damage.
  std::size_t read(std::size_t wanted, ByteReader& column);

  // Of the batch that was read last, in microseconds.
  std::uint64_t operator[](std::size_t i) const { return times_[i]; }
  // Whether time has come to the chunk's last moment.
  bool at_end() const { return time_us_ == last_us_; }

private:
  static constexpr std::size_t kUsualStretch = 8; // events with the same time

  void read_token(ByteReader& column);

  std::uint64_t time_us_ = 0;
  std::uint64_t last_us_ = 0;
  std::uint64_t still_;     // events until time moves
  std::uint64_t next_tick_; // by how much it moves then; 0: not any more
  std::array<std::uint64_t, kBatch + kUsualStretch> times_;
};

} // namespace heaptape
