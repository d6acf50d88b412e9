#include "tape/crash_codec.h"

#include <utility>

#include "base/byte_cursor.h"

namespace heaptape {

void put_crashes(std::span<const Crash> crashes, std::vector<std::byte>& out) {
  ByteWriter writer(out);
  writer.varint(crashes.size());
  std::vector<std::byte> bytes;
  for (const Crash& crash : crashes) {
    bytes.clear();
    ByteWriter entry(bytes);
    entry.varint(crash.signal);
    entry.signed_varint(crash.code);
    entry.varint(crash.ended_by);
    entry.u8(crash.was_handled ? 1 : 0);
    entry.varint(crash.event);
    entry.varint(crash.time_us);
    entry.varint(crash.thread.value);
    entry.varint(crash.stack.value);
    entry.varint(crash.address);
    entry.varint(crash.registers.size());
    for (const std::uint64_t value : crash.registers) entry.varint(value);
    entry.varint(crash.error);
    entry.varint(crash.trap);
    entry.varint(crash.frames);
    entry.text(crash.bytes);
    writer.varint(bytes.size());
    writer.bytes(bytes);
  }
}

bool parse_crashes(std::span<const std::byte> payload, std::vector<Crash>& crashes) {
  ByteReader reader(payload);
  for (std::uint64_t left = reader.varint(); left != 0 && reader.ok(); --left) {
    ByteReader entry(reader.bytes(reader.varint()));
    Crash crash;
    crash.signal = static_cast<std::uint32_t>(entry.varint());
    crash.code = static_cast<std::int32_t>(entry.signed_varint());
    crash.ended_by = static_cast<std::uint32_t>(entry.varint());
    crash.was_handled = entry.u8() != 0;
    crash.event = entry.varint();
    crash.time_us = entry.varint();
    crash.thread = ThreadId(static_cast<std::uint32_t>(entry.varint()));
    crash.stack = StackId(static_cast<std::uint32_t>(entry.varint()));
    crash.address = entry.varint();
    const std::uint64_t registers = entry.varint(); // more of them: of a later version
    for (std::uint64_t i = 0; i < registers && entry.ok(); ++i) {
      const std::uint64_t value = entry.varint();
      if (i < crash.registers.size()) crash.registers[i] = value;
    }
    crash.error = entry.varint();
    crash.trap = entry.varint();
    crash.frames = entry.varint();
    crash.bytes = entry.text().substr(0, wire::kCrashCodeBytes);
    if (!entry.ok()) return false;
    if (reader.ok()) crashes.push_back(std::move(crash));
  }
  return reader.ok();
}

} // namespace heaptape
