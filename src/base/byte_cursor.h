// Little-endian numbers, varints and text in and out of bytes.
//
// A varint holds 7 bits per byte, least significant first; the top bit of a byte says that another one follows; at most
// ten bytes. A zigzag varint holds a signed number n as the unsigned 2n (n >= 0) or -2n-1 (n < 0).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace heaptape {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

inline constexpr std::size_t kMaxVarintBytes = 10;

constexpr std::uint64_t zigzag(std::int64_t number) {
  return (static_cast<std::uint64_t>(number) << 1) ^ static_cast<std::uint64_t>(number >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t code) {
  return static_cast<std::int64_t>((code >> 1) ^ (~(code & 1) + 1));
}

// Writes a varint to `out`, which has room for kMaxVarintBytes; returns the byte behind it.
inline std::byte* put_varint(std::byte* out, std::uint64_t number) {
  while (number >= 0x80) {
    *out++ = static_cast<std::byte>(number | 0x80);
    number >>= 7;
  }
  *out++ = static_cast<std::byte>(number);
  return out;
}

// Takes things off the front of bytes that may be hostile. A read past the end, or a varint that is too long, sets the
// reader to failed for good: everything read from then on is 0 or empty. So a parser may read on and ask ok() once, as
// long as it checks counts against remaining() before it allocates.
class ByteReader {
public:
  explicit ByteReader(std::span<const std::byte> bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool ok() const { return ok_; }
  // Whether everything was read, and nothing failed.
  bool done() const { return ok_ && at_ == end_; }
  std::size_t remaining() const { return static_cast<std::size_t>(end_ - at_); }
  // What is still to be read, in place.
  std::span<const std::byte> rest() const { return {at_, remaining()}; }

  std::uint8_t u8() { return fixed<std::uint8_t>(); }
  std::uint16_t u16() { return fixed<std::uint16_t>(); }
  std::uint32_t u32() { return fixed<std::uint32_t>(); }
  std::uint64_t u64() { return fixed<std::uint64_t>(); }

  std::uint64_t varint() {
    if (remaining() >= 8) [[likely]] {
      std::uint64_t word = 0;
      std::memcpy(&word, at_, sizeof word);
      if ((word & 0x80) == 0) {
        ++at_;
        return word & 0x7f;
      }
      if (const std::uint64_t last = ~word & kTops; last != 0) [[likely]] {
        at_ += (std::countr_zero(last) + 1) / 8;
        return without_tops(word & (last ^ (last - 1)));
      }
    }
    return varint_by_byte();
  }
  std::int64_t signed_varint() { return unzigzag(varint()); }

  // The next `size` bytes, in place.
  std::span<const std::byte> bytes(std::uint64_t size) {
    if (size > remaining()) {
      fail();
      return {};
    }
    const std::span<const std::byte> taken(at_, static_cast<std::size_t>(size));
    at_ += size;
    return taken;
  }
  // Text with its length, a varint, in front; in place.
  std::string_view text() {
    const auto taken = bytes(varint());
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }

  void fail() {
    ok_ = false;
    at_ = end_;
  }

private:
  static constexpr std::uint64_t kTops = 0x8080'8080'8080'8080;

  // The low seven bits of each of eight bytes, together: first in pairs, then in fours, then all. A loop would be left
  // at an unforeseeable byte, which costs more than the whole.
  static constexpr std::uint64_t without_tops(std::uint64_t word) {
    word = (word & 0x007f'007f'007f'007f) | (word & 0x7f00'7f00'7f00'7f00) >> 1;
    word = (word & 0x0000'3fff'0000'3fff) | (word & 0x3fff'0000'3fff'0000) >> 2;
    return (word & 0x0fff'ffff) | (word & 0x0fff'ffff'0000'0000) >> 4;
  }

  // For the last bytes, and for long ones.
  [[gnu::noinline]] std::uint64_t varint_by_byte() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) break;
      const auto byte = static_cast<std::uint64_t>(*at_++);
      // The tenth byte has room for one bit only.
      if (shift == 63 && byte > 1) break;
      number |= (byte & 0x7f) << shift;
      if (byte < 0x80) return number;
    }
    fail();
    return 0;
  }

  template <class T>
  T fixed() {
    T number = 0;
    const auto taken = bytes(sizeof(T));
    if (!taken.empty()) std::memcpy(&number, taken.data(), sizeof(T));
    return number;
  }

  const std::byte* at_;
  const std::byte* end_;
  bool ok_ = true;
};

// Appends to a vector it does not own.
class ByteWriter {
public:
  explicit ByteWriter(std::vector<std::byte>& out) : out_(out) {}

  void u8(std::uint8_t number) { fixed(number); }
  void u16(std::uint16_t number) { fixed(number); }
  void u32(std::uint32_t number) { fixed(number); }
  void u64(std::uint64_t number) { fixed(number); }
  void varint(std::uint64_t number) {
    std::byte buffer[kMaxVarintBytes];
    const std::byte* end = put_varint(buffer, number);
    out_.insert(out_.end(), static_cast<const std::byte*>(buffer), end);
  }
  void signed_varint(std::int64_t number) { varint(zigzag(number)); }
  void bytes(std::span<const std::byte> bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  void text(std::string_view text) {
    varint(text.size());
    bytes(std::as_bytes(std::span(text.data(), text.size())));
  }

private:
  template <class T>
  void fixed(T number) {
    const auto* first = reinterpret_cast<const std::byte*>(&number);
    out_.insert(out_.end(), first, first + sizeof(T));
  }

  std::vector<std::byte>& out_;
};

} // namespace heaptape
