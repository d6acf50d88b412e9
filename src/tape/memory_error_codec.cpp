#include "tape/memory_error_codec.h"

#include <algorithm>
#include <string_view>

#include "base/byte_cursor.h"
#include "tape/sized_entry.h"

namespace heaptape {

namespace {

// A number that is kept in a byte. What is larger is none that this version knows, and stays so.
std::uint8_t byte_of(std::uint64_t number) { return static_cast<std::uint8_t>(std::min<std::uint64_t>(number, 255)); }

} // namespace

void put_memory_errors(const MemoryErrors& errors, std::vector<std::byte>& out) {
  std::vector<std::byte> scratch;
  ByteWriter writer(out);
  writer.text(errors.mode);
  writer.varint(errors.left_out);
  writer.varint(errors.errors.size());
  for (const MemoryError& error : errors.errors) {
    put_sized(out, scratch, [&](ByteWriter& entry) {
      entry.varint(static_cast<std::uint64_t>(error.sort));
      entry.varint(static_cast<std::uint64_t>(error.found));
      entry.varint(error.expected);
      entry.varint(error.event);
      entry.varint(error.time_us);
      entry.varint(error.thread.value);
      entry.varint(error.stack.value);
      entry.varint(error.address);
      entry.varint(error.length);
      entry.varint(error.block);
      entry.varint(error.block_size);
      entry.varint(error.given);
      entry.varint(error.whole_us);
      entry.text(error.bytes);
      entry.text(error.function);
    });
  }
}

bool parse_memory_errors(std::span<const std::byte> payload, MemoryErrors& errors) {
  ByteReader reader(payload);
  const std::string_view mode = reader.text();
  const std::uint64_t left_out = reader.varint();
  for (std::uint64_t left = reader.varint(); left != 0 && reader.ok(); --left) {
    ByteReader entry(reader.bytes(reader.varint()));
    MemoryError error;
    error.sort = static_cast<ErrorSort>(byte_of(entry.varint()));
    error.found = static_cast<FoundAt>(byte_of(entry.varint()));
    error.expected = byte_of(entry.varint());
    error.event = entry.varint();
    error.time_us = entry.varint();
    error.thread = ThreadId(static_cast<std::uint32_t>(entry.varint()));
    error.stack = StackId(static_cast<std::uint32_t>(entry.varint()));
    error.address = entry.varint();
    error.length = entry.varint();
    error.block = entry.varint();
    error.block_size = entry.varint();
    error.given = entry.varint();
    error.whole_us = entry.varint();
    error.bytes = entry.text().substr(0, wire::kErrorBytes);
    error.function = entry.text().substr(0, wire::kErrorFunctionBytes);
    if (!entry.ok()) return false;
    if (!reader.ok()) break;
    if (errors.errors.size() >= kMostMemoryErrors) return false;
    errors.errors.push_back(std::move(error));
  }
  if (!reader.ok()) return false;
  errors.mode = mode;
  errors.left_out = left_out;
  return true;
}

} // namespace heaptape
