// Reading WORD[,NAME=VALUE]... without libc.
#pragma once

#include <cstdint>

namespace heaptape::recorder {

// Behind `name` in `text`, if it begins with that and ends there; else null.
inline const char* behind(const char* text, const char* name) noexcept {
  while (*name != 0 && *text == *name) {
    ++text;
    ++name;
  }
  return *name == 0 ? text : nullptr;
}
inline bool is_word(const char* text, const char* word) noexcept {
  const char* const end = behind(text, word);
  return end != nullptr && (*end == 0 || *end == ',');
}
inline const char* next_part(const char* text) noexcept {
  while (*text != 0 && *text != ',') ++text;
  return *text == ',' ? text + 1 : text;
}

inline bool read_number(const char* text, std::uint64_t base, std::uint64_t most, std::uint64_t& number) noexcept {
  number = 0;
  const char* at = text;
  for (; *at != 0 && *at != ','; ++at) {
    const char c = *at;
    std::uint64_t digit = base;
    if (c >= '0' && c <= '9') digit = static_cast<std::uint64_t>(c - '0');
    if (c >= 'a' && c <= 'f') digit = static_cast<std::uint64_t>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') digit = static_cast<std::uint64_t>(c - 'A') + 10;
    if (digit >= base || number > (most - digit) / base) return false;
    number = number * base + digit;
  }
  return at != text;
}

} // namespace heaptape::recorder
