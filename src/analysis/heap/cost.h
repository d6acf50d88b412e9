// A number of blocks and the bytes in them.
#pragma once

#include <cstdint>

namespace heaptape {

struct Cost {
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;

  // One block.
  static constexpr Cost of(std::uint64_t bytes) { return {bytes, 1}; }

  constexpr Cost& operator+=(const Cost& other) {
    bytes += other.bytes;
    blocks += other.blocks;
    return *this;
  }
  constexpr Cost& operator-=(const Cost& other) {
    bytes -= other.bytes;
    blocks -= other.blocks;
    return *this;
  }
  friend constexpr Cost operator+(Cost a, const Cost& b) { return a += b; }
  friend constexpr Cost operator-(Cost a, const Cost& b) { return a -= b; }
  friend constexpr bool operator==(const Cost&, const Cost&) = default;
};

} // namespace heaptape
