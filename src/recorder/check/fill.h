// How much of a block is filled, and looked at again later: all of it in `full`; otherwise its first 4 KiB and its last 64 bytes.
// Fills and looks go up to the next 16 bytes, where no block ends that is not followed by a redzone.
#pragma once

#include <cstdint>

#include "recorder/check/options.h"
#include "recorder/check/pattern.h"

namespace heaptape::recorder {

inline constexpr std::uint64_t kFilledFront = 4096;
inline constexpr std::uint64_t kFilledBack = 64;

[[gnu::always_inline]] inline void fill_block(char* block, std::uint64_t size, std::uint8_t byte) noexcept {
  const std::uint64_t rounded = (size + 15) & ~std::uint64_t{15};
  if (rounded <= kFilledFront + kFilledBack || g_check.full) [[likely]]
    return fill16(block, rounded, byte);
  fill16(block, kFilledFront, byte);
  fill16(block + rounded - kFilledBack, kFilledBack, byte);
}

// Of a block that was filled when it was released. What is behind its end up to the next 16 bytes was, too.
[[gnu::always_inline]] inline bool is_block_filled(const char* block, std::uint64_t size, std::uint8_t byte) noexcept {
  const std::uint64_t rounded = (size + 15) & ~std::uint64_t{15};
  if (rounded <= kFilledFront + kFilledBack || g_check.full) [[likely]]
    return is_filled16(block, rounded, byte);
  return is_filled16(block, kFilledFront, byte) && is_filled16(block + rounded - kFilledBack, kFilledBack, byte);
}

// The redzone of a block that ends at `from`: up to `end`, which is at least kRedzone behind and at a whole number of 16 bytes.
[[gnu::always_inline]] inline void write_redzone(char* from, char* end) noexcept {
  store16(from, pattern_of(kRedzoneByte));
  char* const next = reinterpret_cast<char*>((reinterpret_cast<std::uint64_t>(from) + 16) & ~std::uint64_t{15});
  if (next < end) fill16(next, static_cast<std::uint64_t>(end - next), kRedzoneByte);
}
[[gnu::always_inline]] inline bool is_redzone(const char* from, const char* end) noexcept {
  if (!is_all_zero(difference16(from, pattern_of(kRedzoneByte)))) return false;
  const char* const next =
      reinterpret_cast<const char*>((reinterpret_cast<std::uint64_t>(from) + 16) & ~std::uint64_t{15});
  return next >= end || is_filled16(next, static_cast<std::uint64_t>(end - next), kRedzoneByte);
}

} // namespace heaptape::recorder
