// The multiplier of our hash functions, once. (The recorder has its own: it includes nothing of base. So has the tape format, whose
// numbers must never change.)
#pragma once

#include <cstdint>

namespace heaptape {

// Fibonacci hashing: 2^64 divided by the golden ratio, made odd. Neighbouring keys end up far from each other in the high bits of the
// product; its low bits know only the low bits of the key, so take the high ones.
inline constexpr std::uint64_t kGoldenRatio = 0x9e37'79b9'7f4a'7c15u;

constexpr std::uint64_t mix(std::uint64_t key) { return key * kGoldenRatio; }

} // namespace heaptape
