// What payload_fuzz reads: payloads without the block header, checksums and compression that would keep a fuzzer out.
//
//   byte 0    type of the payload, a format::ChunkType; of EVENTS:
//   1 .. 24   raw size of each column, 2 bytes
//   25 ..     the columns, one behind the other; the first, Ops, says how many events there are
// and of every other type the payload follows at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/byte_cursor.h"
#include "tape/event_chunk.h"

namespace heaptape {

// An EVENTS payload whose columns are stored raw; what the input lacks is left out.
inline std::vector<std::byte> event_payload_from(std::span<const std::byte> input) {
  ByteReader reader(input);
  format::EventChunkHead head{};
  head.first_number = 1;
  head.last_us = std::uint64_t{1} << 40;
  std::uint16_t sizes[format::kEventColumns];
  for (std::uint16_t& size : sizes) size = reader.u16();
  std::vector<std::byte> payload(sizeof head);
  for (std::size_t i = 0; i < format::kEventColumns; ++i) {
    const auto column = reader.bytes(std::min<std::size_t>(sizes[i], reader.remaining()));
    payload.insert(payload.end(), column.begin(), column.end());
    head.columns[i].stored_bytes = head.columns[i].raw_bytes = static_cast<std::uint32_t>(column.size());
  }
  head.count = head.columns[format::Ops].raw_bytes;
  head.checksum = format::event_chunk_head_checksum(head);
  std::memcpy(payload.data(), &head, sizeof head);
  return payload;
}

} // namespace heaptape
