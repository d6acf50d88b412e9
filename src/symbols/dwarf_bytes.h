// What DWARF needs of a ByteReader beyond plain numbers. Like there, a read past the end fails for good and gives 0.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/byte_cursor.h"
#include "symbols/elf_image.h"

namespace heaptape::dwarf {

// Signed, two's complement, 7 bits per byte.
inline std::int64_t signed_leb(ByteReader& reader) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    const std::uint8_t byte = reader.u8();
    if (shift < 64) number |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) {
      if ((byte & 0x40) != 0 && shift + 7 < 64) number |= ~std::uint64_t{0} << (shift + 7);
      return static_cast<std::int64_t>(number);
    }
  }
  reader.fail();
  return 0;
}

// A number of 1 to 8 bytes.
inline std::uint64_t sized_number(ByteReader& reader, std::uint8_t bytes) {
  switch (bytes) {
  case 1: return reader.u8();
  case 2: return reader.u16();
  case 3: {
    const std::uint64_t low = reader.u16();
    return low | std::uint64_t{reader.u8()} << 16;
  }
  case 4: return reader.u32();
  case 8: return reader.u64();
  default: reader.fail(); return 0;
  }
}

// Text up to its NUL byte, which is taken too.
inline std::string_view c_text(ByteReader& reader) {
  const ByteSpan rest = reader.rest();
  const void* end = rest.empty() ? nullptr : std::memchr(rest.data(), 0, rest.size());
  if (end == nullptr) {
    reader.fail();
    return {};
  }
  const auto size = static_cast<std::size_t>(static_cast<const std::byte*>(end) - rest.data());
  (void)reader.bytes(size + 1);
  return {reinterpret_cast<const char*>(rest.data()), size};
}

// A number at an offset of a section; 0 with `ok` cleared when it lies outside.
inline std::uint64_t number_at(ByteSpan section, std::uint64_t offset, std::uint8_t bytes, bool& ok) {
  if (offset > section.size() || bytes > section.size() - offset) {
    ok = false;
    return 0;
  }
  ByteReader reader(section.subspan(static_cast<std::size_t>(offset), bytes));
  return sized_number(reader, bytes);
}

inline std::string_view text_at(ByteSpan section, std::uint64_t offset) {
  if (offset >= section.size()) return {};
  ByteReader reader(section.subspan(static_cast<std::size_t>(offset)));
  return c_text(reader);
}

// How long a unit is, and whether its offsets take four bytes or eight.
struct UnitLength {
  std::uint64_t bytes = 0;
  std::uint8_t offset_bytes = 4;
};
inline UnitLength unit_length(ByteReader& reader) {
  const std::uint32_t first = reader.u32();
  if (first < 0xffff'fff0u) return {first, 4};
  if (first != 0xffff'ffffu) {
    reader.fail();
    return {};
  }
  return {reader.u64(), 8};
}

} // namespace heaptape::dwarf
