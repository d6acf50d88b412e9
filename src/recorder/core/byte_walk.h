// Walks over DWARF-encoded bytes. Past the end it yields zeros and remembers that it did.
#pragma once

#include <cstdint>
#include <cstring>

namespace heaptape::recorder {

class ByteWalk {
public:
  ByteWalk(const std::uint8_t* begin, const std::uint8_t* end) noexcept : at_(begin), end_(end) {}

  bool done() const noexcept { return at_ >= end_ || bad_; }
  bool bad() const noexcept { return bad_; }
  const std::uint8_t* at() const noexcept { return at_; }
  void spoil() noexcept { bad_ = true; }

  template <class T>
  T fixed() noexcept {
    T value{};
    if (end_ - at_ < static_cast<std::ptrdiff_t>(sizeof(T)) || bad_) {
      bad_ = true;
      return value;
    }
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  std::uint64_t uleb() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = fixed<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
  }

  std::int64_t sleb() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0;;) {
      const auto byte = fixed<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fu} << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if (shift < 64 && (byte & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
      return static_cast<std::int64_t>(value);
    }
  }

  void skip(std::uint64_t bytes) noexcept {
    if (bytes > static_cast<std::uint64_t>(end_ - at_)) bad_ = true;
    if (!bad_) at_ += bytes;
  }

  // A pointer in DW_EH_PE encoding; `data_base` is what data-relative ones count from. Indirect ones are refused.
  std::uint64_t encoded(std::uint8_t encoding, std::uint64_t data_base) noexcept {
    constexpr std::uint8_t kOmitted = 0xff, kPcRelative = 0x10, kDataRelative = 0x30, kIndirect = 0x80;
    if (encoding == kOmitted) return 0;
    const auto here = reinterpret_cast<std::uint64_t>(at_);
    std::uint64_t value = 0;
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c: value = fixed<std::uint64_t>(); break;
    case 0x01: value = uleb(); break;
    case 0x02: value = fixed<std::uint16_t>(); break;
    case 0x03: value = fixed<std::uint32_t>(); break;
    case 0x09: value = static_cast<std::uint64_t>(sleb()); break;
    case 0x0a: value = static_cast<std::uint64_t>(std::int64_t{fixed<std::int16_t>()}); break;
    case 0x0b: value = static_cast<std::uint64_t>(std::int64_t{fixed<std::int32_t>()}); break;
    default: bad_ = true;
    }
    if ((encoding & kIndirect) != 0) bad_ = true;
    if ((encoding & 0x70) == kPcRelative) value += here;
    if ((encoding & 0x70) == kDataRelative) value += data_base;
    return value;
  }

private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
  bool bad_ = false;
};

} // namespace heaptape::recorder
