// How large a slot is that a small block gets: steps of 16 bytes up to 1 KiB, then 16 steps to each doubling.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace heaptape::recorder {

inline constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << 20; // slots of one class lie in chunks
inline constexpr std::uint64_t kChunkHead = 64;                      // bytes before the first slot
inline constexpr std::uint32_t kLargestSlot = 128 * 1024;
inline constexpr std::uint32_t kClasses = 64 + 7 * 16 + 1; // from 1 on

// The class of the smallest slot with at least `bytes`, which is at most kLargestSlot.
constexpr std::uint32_t class_of(std::uint64_t bytes) noexcept {
  if (bytes <= 1024) {
    const auto steps = static_cast<std::uint32_t>((bytes + 15) / 16);
    return steps < 2 ? 2 : steps;
  }
  const auto log = static_cast<std::uint32_t>(std::bit_width(bytes - 1)) - 1;
  const auto step = static_cast<std::uint32_t>((bytes - 1) >> (log - 4));
  return 64 + (log - 10) * 16 + (step - 16) + 1;
}

constexpr std::uint32_t bytes_of_class(std::uint32_t size_class) noexcept {
  if (size_class <= 64) return size_class * 16;
  const std::uint32_t step = (size_class - 65) % 16 + 17;
  const std::uint32_t log = 10 + (size_class - 65) / 16;
  return step << (log - 4);
}
static_assert(bytes_of_class(kClasses - 1) == kLargestSlot && class_of(kLargestSlot) == kClasses - 1);
static_assert(class_of(1025) == 65 && bytes_of_class(65) == 1088 && class_of(1088) == 65 && class_of(1089) == 66);

// A division by the size of a slot as a multiplication: offset * factor >> kFactorShift, exact for offsets within a chunk.
inline constexpr unsigned kFactorShift = 44;
struct ClassFacts {
  std::uint64_t factor;
  std::uint32_t bytes;
  std::uint32_t slots; // in a chunk
};
inline constexpr std::array<ClassFacts, kClasses> kClassFacts = [] {
  std::array<ClassFacts, kClasses> facts{};
  for (std::uint32_t index = 1; index < kClasses; ++index) {
    const std::uint64_t bytes = bytes_of_class(index);
    facts[index] = {((std::uint64_t{1} << kFactorShift) + bytes - 1) / bytes, static_cast<std::uint32_t>(bytes),
                    static_cast<std::uint32_t>((kChunkBytes - kChunkHead) / bytes)};
  }
  return facts;
}();

} // namespace heaptape::recorder
