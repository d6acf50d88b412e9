// Little-endian bytes, out and in. The reader never leaves its span: past the end it yields zeros and remembers that it did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace heaptape {

class ByteWriter {
public:
  template <class T>
  void fixed(T value) {
    static_assert(std::is_integral_v<T>);
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<std::byte>(value | 0x80));
    bytes_.push_back(static_cast<std::byte>(value));
  }
  void raw(std::span<const std::byte> more) { bytes_.insert(bytes_.end(), more.begin(), more.end()); }
  void text(std::string_view text) {
    varint(text.size());
    raw(std::as_bytes(std::span(text)));
  }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  void clear() { bytes_.clear(); }

private:
  std::vector<std::byte> bytes_;
};

class ByteReader {
public:
  explicit ByteReader(std::span<const std::byte> bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool bad() const { return bad_; }
  bool done() const { return bad_ || at_ == end_; }
  std::size_t left() const { return bad_ ? 0 : static_cast<std::size_t>(end_ - at_); }

  template <class T>
  T fixed() {
    static_assert(std::is_integral_v<T>);
    T value{};
    if (left() < sizeof value) {
      bad_ = true;
    } else {
      std::memcpy(&value, at_, sizeof value);
      at_ += sizeof value;
    }
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = fixed<std::uint8_t>();
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    bad_ = true;
    return 0;
  }
  std::span<const std::byte> raw(std::size_t size) {
    if (left() < size) {
      bad_ = true;
      return {};
    }
    at_ += size;
    return {at_ - size, size};
  }
  std::string text() {
    const std::span<const std::byte> bytes = raw(static_cast<std::size_t>(varint()));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  // A count of things that take at least `least` bytes each: never more than can be there.
  std::size_t count(std::size_t least) {
    const std::uint64_t wanted = varint();
    if (wanted > left() / least) bad_ = true;
    return bad_ ? 0 : static_cast<std::size_t>(wanted);
  }

private:
  const std::byte* at_;
  const std::byte* end_;
  bool bad_ = false;
};

// Small numbers of either sign as small unsigned ones.
constexpr std::uint64_t zigzag(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

} // namespace heaptape
