// Bytes that memory is filled with, and looking whether they are still there. Without libc's functions, which the checks may watch.
#pragma once

#include <emmintrin.h>

#include <cstddef>
#include <cstdint>

namespace heaptape::recorder {

inline constexpr std::uint8_t kRedzoneByte = 0xfd;
inline constexpr std::uint64_t kRedzone = 16; // behind each block at least, and so before the next one

[[gnu::always_inline]] inline __m128i pattern_of(std::uint8_t byte) noexcept {
  return _mm_set1_epi8(static_cast<char>(byte));
}
[[gnu::always_inline]] inline void store16(void* at, __m128i value) noexcept {
  _mm_storeu_si128(static_cast<__m128i*>(at), value);
}
// All zero where the bytes are the pattern.
[[gnu::always_inline]] inline __m128i difference16(const void* at, __m128i pattern) noexcept {
  return _mm_xor_si128(_mm_loadu_si128(static_cast<const __m128i*>(at)), pattern);
}
[[gnu::always_inline]] inline bool is_all_zero(__m128i value) noexcept {
  return _mm_movemask_epi8(_mm_cmpeq_epi8(value, _mm_setzero_si128())) == 0xffff;
}

// A whole number of 16 bytes.
[[gnu::always_inline]] inline void fill16(char* at, std::uint64_t bytes, std::uint8_t byte) noexcept {
  if (bytes >= 1024) {
    std::uint64_t count = bytes;
    asm volatile("rep stosb" : "+D"(at), "+c"(count) : "a"(byte) : "memory");
    return;
  }
  const __m128i pattern = pattern_of(byte);
  std::uint64_t done = 0;
  for (; done + 64 <= bytes; done += 64) {
    store16(at + done, pattern);
    store16(at + done + 16, pattern);
    store16(at + done + 32, pattern);
    store16(at + done + 48, pattern);
  }
  for (; done < bytes; done += 16) store16(at + done, pattern);
}
[[gnu::always_inline]] inline bool is_filled16(const char* at, std::uint64_t bytes, std::uint8_t byte) noexcept {
  const __m128i pattern = pattern_of(byte);
  __m128i wrong = _mm_setzero_si128();
  std::uint64_t done = 0;
  for (; done + 64 <= bytes; done += 64) {
    wrong = _mm_or_si128(
        wrong,
        _mm_or_si128(_mm_or_si128(difference16(at + done, pattern), difference16(at + done + 16, pattern)),
                     _mm_or_si128(difference16(at + done + 32, pattern), difference16(at + done + 48, pattern))));
  }
  for (; done < bytes; done += 16) wrong = _mm_or_si128(wrong, difference16(at + done, pattern));
  return is_all_zero(wrong);
}

// Any number of bytes.
inline void fill_bytes(char* at, std::uint64_t bytes, std::uint8_t byte) noexcept {
  asm volatile("rep stosb" : "+D"(at), "+c"(bytes) : "a"(byte) : "memory");
}
inline void copy_bytes(char* to, const char* from, std::uint64_t bytes) noexcept {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}
inline bool is_filled(const char* at, std::uint64_t bytes, std::uint8_t byte) noexcept {
  if (!is_filled16(at, bytes & ~std::uint64_t{15}, byte)) return false;
  for (std::uint64_t i = bytes & ~std::uint64_t{15}; i < bytes; ++i) {
    if (static_cast<std::uint8_t>(at[i]) != byte) return false;
  }
  return true;
}

} // namespace heaptape::recorder
