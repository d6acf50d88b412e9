// Texts on their way to the collector: twelve bytes a record, in front of the record that says what they are for.
#pragma once

#include <cstdint>

#include "recorder/core/events.h"
#include "recorder/core/ring.h"

namespace heaptape::recorder {

// Of a text that may be null, and of which no more than `longest` bytes count.
inline std::uint64_t length_of(const char* text, std::uint64_t longest) noexcept {
  std::uint64_t length = 0;
  if (text != nullptr)
    while (length < longest && text[length] != '\0') ++length;
  return length;
}

inline constexpr std::uint64_t kTextHalf = 6; // bytes in each of address and size
inline std::uint64_t text_half(const void* bytes, std::uint64_t length, std::uint64_t at) noexcept {
  std::uint64_t value = 0;
  for (std::uint64_t i = 0; i < kTextHalf && at + i < length; ++i)
    value |= std::uint64_t{static_cast<const unsigned char*>(bytes)[at + i]} << (8 * i);
  return value;
}

// False: a part of it was lost, and counted.
[[nodiscard]] inline bool put_text(const char* text, std::uint64_t length, const Frame& site) noexcept {
  for (std::uint64_t at = 0; at < length; at += 2 * kTextHalf) {
    if (!record(EventKind::MarkText, text_half(text, length, at), text_half(text, length, at + kTextHalf), site, false))
      return false;
  }
  return true;
}

// How many records that many bytes take.
constexpr std::uint64_t text_records(std::uint64_t length) noexcept {
  return (length + 2 * kTextHalf - 1) / (2 * kTextHalf);
}

// The same for bytes of a signal handler, where there is known to be room.
inline void put_text_in_room(ThreadState& thread, const void* bytes, std::uint64_t length) noexcept {
  for (std::uint64_t at = 0; at < length; at += 2 * kTextHalf)
    put_in_room(thread, EventKind::MarkText, text_half(bytes, length, at), text_half(bytes, length, at + kTextHalf), 0);
}

} // namespace heaptape::recorder
