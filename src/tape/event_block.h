// The front of an EVENTS payload, which a reader may look at without reading the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tape/format.h"

namespace heaptape::format {

inline constexpr std::size_t kEventColumns = 8;
inline constexpr std::uint32_t kMaxEventsPerBlock = std::uint32_t{1} << 18;

//   offset  size
//        0     8  number of the first event
//        8     8  time of the first event, microseconds
//       16     8  time of the last event
//       24     4  count of events, 1 .. 2^18
//       28     4  reserved, 0
//       32    64  per column: 4 bytes stored size, 4 bytes raw size; equal when stored raw, else one zstd frame
//       96     8  XXH3-64 of bytes 0..95
//      104        the columns, one behind the other
struct EventBlockHead {
  struct Column {
    std::uint32_t stored_bytes;
    std::uint32_t raw_bytes;
  };
  std::uint64_t first_number;
  std::uint64_t first_us;
  std::uint64_t last_us;
  std::uint32_t count;
  std::uint32_t reserved;
  Column columns[kEventColumns];
  std::uint64_t checksum;
};
static_assert(sizeof(EventBlockHead) == 104);

std::uint64_t event_block_head_checksum(const EventBlockHead& head);

} // namespace heaptape::format
