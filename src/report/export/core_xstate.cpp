#include "report/export/core_xstate.h"

#include <cstdint>
#include <cstring>

namespace heaptape {

namespace {

// Where the kernel says which registers the area has room for, and where the processor says which of them are in use.
constexpr std::size_t kRoomFor = 464, kInUse = 512;
constexpr std::size_t kHeaderEnd = 576;

// What gdb reads of an area with these registers; it must have this very size.
constexpr std::size_t known_bytes(std::uint64_t features) {
  constexpr std::uint64_t kAvx = 1U << 2, kBounds = 3U << 3, kAvx512 = 7U << 5, kProtectionKeys = 1U << 9;
  if ((features & kProtectionKeys) != 0) return 2696;
  if ((features & kAvx512) != 0) return 2688;
  if ((features & kBounds) != 0) return 1088;
  return (features & kAvx) != 0 ? 832 : kHeaderEnd;
}
constexpr std::uint64_t kKnown = 0x3ff;

std::uint64_t word_at(const std::string& area, std::size_t offset) {
  std::uint64_t word;
  std::memcpy(&word, area.data() + offset, sizeof word);
  return word;
}

} // namespace

std::string xstate_for_debuggers(std::span<const std::byte> area) {
  std::string known(reinterpret_cast<const char*>(area.data()), area.size());
  if (known.size() < kHeaderEnd) return known;
  const std::size_t bytes = known_bytes(word_at(known, kRoomFor));
  if (known.size() <= bytes) return known;
  known.resize(bytes);
  for (const std::size_t offset : {kRoomFor, kInUse}) {
    const std::uint64_t word = word_at(known, offset) & kKnown;
    std::memcpy(known.data() + offset, &word, sizeof word);
  }
  return known;
}

} // namespace heaptape
