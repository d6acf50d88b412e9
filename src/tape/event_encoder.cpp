#include "tape/event_encoder.h"

#include <array>
#include <cstring>

#include "base/byte_cursor.h"
#include "base/check.h"
#include "tape/compression.h"
#include "tape/event_block.h"

namespace heaptape {

struct EventEncoder::State {
  Compressor compressor;
  std::array<std::vector<std::byte>, format::kEventColumns> columns;
  std::vector<std::byte> payload;
  std::size_t count = 0;
  std::uint64_t first_number = 0;
  std::uint64_t first_us = 0;
  Event last;
};

EventEncoder::EventEncoder() : state_(std::make_unique<State>()) {}
EventEncoder::~EventEncoder() = default;
EventEncoder::EventEncoder(EventEncoder&&) noexcept = default;
EventEncoder& EventEncoder::operator=(EventEncoder&&) noexcept = default;

void EventEncoder::add(const Event& event, std::uint64_t) {
  State& s = *state_;
  if (s.count == 0) {
    s.first_number = event.number;
    s.first_us = std::max(s.last.time_us, event.time_us);
    const std::uint64_t time = s.first_us;
    s.last = {};
    s.last.time_us = time;
  }
  HT_CHECK(s.count < kMaxEvents && event.number == s.first_number + s.count);
  const std::uint64_t time_us = std::max(s.last.time_us, event.time_us);
  ByteWriter(s.columns[0])
      .u8(static_cast<std::uint8_t>(static_cast<unsigned>(event.kind) | (event.old_released ? 0x80u : 0u)));
  ByteWriter(s.columns[1]).varint(event.thread.value);
  ByteWriter(s.columns[2]).varint(time_us - s.last.time_us);
  ByteWriter(s.columns[3]).varint(event.stack.value);
  ByteWriter(s.columns[4]).varint(event.size);
  ByteWriter(s.columns[5]).signed_varint(static_cast<std::int64_t>(event.address - s.last.address));
  ByteWriter(s.columns[6]).varint(event.old_address);
  ByteWriter(s.columns[7]).varint(event.old_size);
  s.last = event;
  s.last.time_us = time_us;
  ++s.count;
}

bool EventEncoder::empty() const { return state_->count == 0; }
bool EventEncoder::full() const { return state_->count == kMaxEvents; }
std::size_t EventEncoder::count() const { return state_->count; }
std::uint64_t EventEncoder::first_number() const { return state_->first_number; }

std::span<const std::byte> EventEncoder::finish() {
  State& s = *state_;
  HT_CHECK(s.count != 0);
  format::EventBlockHead head{};
  s.payload.assign(sizeof head, std::byte{0});
  for (std::size_t i = 0; i < format::kEventColumns; ++i) {
    auto& column = s.columns[i];
    const std::size_t before = s.payload.size();
    if (!s.compressor.append(column, s.payload)) s.payload.insert(s.payload.end(), column.begin(), column.end());
    head.columns[i].raw_bytes = static_cast<std::uint32_t>(column.size());
    head.columns[i].stored_bytes = static_cast<std::uint32_t>(s.payload.size() - before);
    column.clear();
  }
  head.first_number = s.first_number;
  head.first_us = s.first_us;
  head.last_us = s.last.time_us;
  head.count = static_cast<std::uint32_t>(s.count);
  head.checksum = format::event_block_head_checksum(head);
  std::memcpy(s.payload.data(), &head, sizeof head);
  s.count = 0;
  return s.payload;
}

} // namespace heaptape
