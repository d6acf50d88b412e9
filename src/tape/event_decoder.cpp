#include "tape/event_decoder.h"

#include <array>
#include <cstring>
#include <vector>

#include "base/byte_cursor.h"
#include "tape/compression.h"

namespace heaptape {

using format::EventBlockHead;
using format::kEventColumns;

std::uint64_t format::event_block_head_checksum(const EventBlockHead& head) {
  return checksum(std::as_bytes(std::span(&head, 1)).first(offsetof(EventBlockHead, checksum)));
}

std::optional<EventBlockHead> parse_event_block_head(std::span<const std::byte> payload, Checksums checksums) {
  EventBlockHead head;
  if (payload.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, payload.data(), sizeof head);
  if (checksums == Checksums::Verify && head.checksum != format::event_block_head_checksum(head)) return std::nullopt;
  if (head.count == 0 || head.count > format::kMaxEventsPerBlock || head.first_number == 0 ||
      head.first_number > ~std::uint64_t{0} - head.count || head.first_us > head.last_us)
    return std::nullopt;
  for (const EventBlockHead::Column& column : head.columns) {
    if (column.stored_bytes > column.raw_bytes || column.raw_bytes > format::kMaxPayloadBytes) return std::nullopt;
  }
  return head;
}

struct EventDecoder::State {
  Checksums checksums = Checksums::Verify;
  Decompressor decompressor;
  EventBlockHead head{};
  std::array<std::vector<std::byte>, kEventColumns> columns;
  std::array<ByteReader, kEventColumns> in{ByteReader({}), ByteReader({}), ByteReader({}), ByteReader({}),
                                           ByteReader({}), ByteReader({}), ByteReader({}), ByteReader({})};
  std::uint64_t done = 0;
  Event last;
  std::vector<Event> events = std::vector<Event>(512);
};

EventDecoder::EventDecoder(Checksums checksums) : state_(std::make_unique<State>()) { state_->checksums = checksums; }
EventDecoder::~EventDecoder() = default;
EventDecoder::EventDecoder(EventDecoder&&) noexcept = default;
EventDecoder& EventDecoder::operator=(EventDecoder&&) noexcept = default;

bool EventDecoder::start(std::span<const std::byte> payload) {
  State& s = *state_;
  s.done = 0;
  s.head.count = 0;
  const auto head = parse_event_block_head(payload, s.checksums);
  if (!head) return false;
  std::size_t at = sizeof *head;
  for (std::size_t i = 0; i < kEventColumns; ++i) {
    const auto& column = head->columns[i];
    if (column.stored_bytes > payload.size() - at) return false;
    const auto stored = payload.subspan(at, column.stored_bytes);
    at += column.stored_bytes;
    if (column.stored_bytes == column.raw_bytes) {
      s.columns[i].assign(stored.begin(), stored.end());
    } else {
      s.columns[i].resize(column.raw_bytes);
      if (!s.decompressor.fill(stored, s.columns[i])) return false;
    }
    s.in[i] = ByteReader(s.columns[i]);
  }
  if (at != payload.size()) return false;
  s.last = {};
  s.last.time_us = head->first_us;
  s.last.number = head->first_number - 1;
  s.head = *head;
  return true;
}

std::span<Event> EventDecoder::next() {
  State& s = *state_;
  std::size_t n = 0;
  for (; n < s.events.size() && s.done < s.head.count; ++n, ++s.done) {
    Event event;
    const std::uint8_t kind = s.in[0].u8();
    event.kind = static_cast<EventKind>(kind & 0x7f);
    event.old_released = (kind & 0x80) != 0;
    event.number = s.last.number + 1;
    event.thread = ThreadId(static_cast<std::uint32_t>(s.in[1].varint()));
    event.time_us = s.last.time_us + s.in[2].varint();
    event.stack = StackId(static_cast<std::uint32_t>(s.in[3].varint()));
    event.size = s.in[4].varint();
    event.address = s.last.address + static_cast<std::uint64_t>(s.in[5].signed_varint());
    event.old_address = s.in[6].varint();
    event.old_size = s.in[7].varint();
    for (const ByteReader& in : s.in)
      if (!in.ok()) {
        s.head.count = 0;
        return std::span(s.events).first(n);
      }
    if ((kind & 0x7f) >= static_cast<std::uint8_t>(EventKind::TapeKinds)) {
      s.head.count = 0;
      return std::span(s.events).first(n);
    }
    s.events[n] = event;
    s.last = event;
  }
  return std::span(s.events).first(n);
}

bool EventDecoder::failed() const { return state_->done != state_->head.count; }

} // namespace heaptape
