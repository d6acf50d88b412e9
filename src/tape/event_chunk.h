// The front of an EVENTS payload, which a reader may look at without reading the rest, and the columns after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tape/format.h"
#include "tape/tape_parts.h"

namespace heaptape::format {

// In the order in which they stand in the chunk. docs/tape-format.md says what is in each.
enum EventColumn : std::uint8_t {
  Ops,       // one byte per event
  Times,     // tokens for moments at which the clock moved
  Threads,   // varint per change of thread
  Sites,     // two bytes per site that is known but was not expected
  NewSites,  // kind and stack of each new site
  Sizes,     // varint per size that was not expected
  Positions, // small codes: places in a list of freed blocks, origins of reallocated blocks
  Strays,    // varint per reuse of a block from before this EVENTS chunk
  Addresses, // of allocations that were not expected
  Ages,      // of released blocks that were not expected
  Releases,  // addresses of released blocks from before this EVENTS chunk
  Others,    // whole events of odd kinds
  kEventColumns,
};

inline constexpr std::uint32_t kMaxEventsPerChunk = std::uint32_t{1} << 18;

//   offset  size
//        0     8  number of the first event
//        8     8  time of the first event, microseconds
//       16     8  time of the last event
//       24     4  count of events, 1 .. 2^18
//       28     4  reserved, 0
//       32    96  per column: 4 bytes stored size, 4 bytes raw size; equal when stored raw, else it is one zstd frame
//      128     8  XXH3-64 of bytes 0..127
//      136        the columns, one behind the other
struct EventChunkHead {
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
static_assert(sizeof(EventChunkHead) == 136);

std::uint64_t event_chunk_head_checksum(const EventChunkHead& head);

} // namespace heaptape::format

namespace heaptape {

// The head of an EVENTS payload, if it is whole, right and sensible. `payload` may be just its beginning.
std::optional<format::EventChunkHead> parse_event_chunk_head(std::span<const std::byte> payload, Checksums checksums);

} // namespace heaptape
