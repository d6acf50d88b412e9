#include "tape/event_chunk.h"

#include <cstring>

namespace heaptape {

using namespace format;

std::uint64_t format::event_chunk_head_checksum(const EventChunkHead& head) {
  return checksum(std::as_bytes(std::span(&head, 1)).first(offsetof(EventChunkHead, checksum)));
}

std::optional<EventChunkHead> parse_event_chunk_head(std::span<const std::byte> payload, Checksums checksums) {
  EventChunkHead head;
  if (payload.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, payload.data(), sizeof head);
  if (checksums == Checksums::Verify && head.checksum != event_chunk_head_checksum(head)) return std::nullopt;
  if (head.count == 0 || head.count > kMaxEventsPerChunk || head.first_number == 0 ||
      head.first_number > ~std::uint64_t{0} - head.count || head.first_us > head.last_us)
    return std::nullopt;
  for (const EventChunkHead::Column& column : head.columns) {
    if (column.stored_bytes > column.raw_bytes || column.raw_bytes > kMaxPayloadBytes) return std::nullopt;
  }
  if (head.columns[Ops].raw_bytes != head.count) return std::nullopt;
  return head;
}

} // namespace heaptape
