// Texts on their way to the collector: twelve bytes a record, in front of the record that says what they are for.
#pragma once

#include <cstdint>

#include "recorder/core/events.h"

namespace heaptape::recorder {

// Of a text that may be null, and of which no more than `longest` bytes count.
inline std::uint64_t length_of(const char* text, std::uint64_t longest) noexcept {
  std::uint64_t length = 0;
  if (text != nullptr)
    while (length < longest && text[length] != '\0') ++length;
  return length;
}

// False: a part of it was lost, and counted.
[[nodiscard]] inline bool put_text(const char* text, std::uint64_t length, const Frame& site) noexcept {
  constexpr std::uint64_t kHalf = 6; // bytes in each of address and size
  const auto half = [&](std::uint64_t at) {
    std::uint64_t value = 0;
    for (std::uint64_t i = 0; i < kHalf && at + i < length; ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(text[at + i])} << (8 * i);
    }
    return value;
  };
  for (std::uint64_t at = 0; at < length; at += 2 * kHalf) {
    if (!record(EventKind::MarkText, half(at), half(at + kHalf), site, false)) return false;
  }
  return true;
}

} // namespace heaptape::recorder
