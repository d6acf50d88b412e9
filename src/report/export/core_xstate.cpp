#include "report/export/core_xstate.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace heaptape {

namespace {

// Where the kernel says which registers the area has room for, and where the processor says which of them are in use.
constexpr std::size_t kRoomFor = 464, kInUse = 512;
constexpr std::size_t kHeaderEnd = 576;
constexpr std::uint64_t kKnown = 0x3ff;

// Each kind of registers has its place, whichever others there are; which place, the processor decides.
struct Part {
  std::uint64_t feature; // its bit
  std::size_t bytes;
  std::size_t intel; // where it begins
  std::size_t amd;   // likewise; 0: AMD's processors do not have it
};
constexpr Part kParts[] = {
    {1U << 2, 256, 576, 576},    // upper halves of YMM0 to YMM15
    {1U << 3, 64, 960, 0},       // bounds
    {1U << 4, 64, 1024, 0},      // and their control words
    {1U << 5, 64, 1088, 832},    // masks of AVX-512
    {1U << 6, 512, 1152, 896},   // upper halves of ZMM0 to ZMM15
    {1U << 7, 1024, 1664, 1408}, // ZMM16 to ZMM31
    {1U << 9, 8, 2688, 2432},    // protection keys; without AVX-512 AMD has them at kKeysBehindAvx
};
constexpr std::uint64_t kKeys = 1U << 9, kAvx512 = 7U << 5;
constexpr std::size_t kKeysBehindAvx = 832;

std::size_t amd_place(const Part& part, std::uint64_t features) {
  return part.feature == kKeys && (features & kAvx512) == 0 ? kKeysBehindAvx : part.amd;
}

// What gdb reads of an area with these registers; it must have this very size.
constexpr std::size_t known_bytes(std::uint64_t features) {
  std::size_t end = kHeaderEnd;
  for (const Part& part : kParts)
    if ((features & part.feature) != 0) end = std::max(end, part.intel + part.bytes);
  return end;
}

std::uint64_t word_at(std::span<const std::byte> area, std::size_t offset) {
  std::uint64_t word;
  std::memcpy(&word, area.data() + offset, sizeof word);
  return word;
}

} // namespace

std::string xstate_for_debuggers(std::span<const std::byte> area) {
  const std::string_view given(reinterpret_cast<const char*>(area.data()), area.size());
  if (given.size() < kHeaderEnd) return std::string(given);
  const std::uint64_t features = word_at(area, kRoomFor) & kKnown;
  const std::size_t bytes = known_bytes(features);
  std::uint64_t in_use = word_at(area, kInUse) & kKnown;
  std::string known(given.substr(0, bytes));
  if (given.size() < bytes) { // AMD's: nothing lies between the parts
    known.resize(kHeaderEnd);
    known.resize(bytes);
    for (const Part& part : kParts) {
      if ((features & part.feature) == 0) continue;
      const std::size_t from = amd_place(part, features);
      if (from != 0 && from + part.bytes <= given.size())
        given.copy(known.data() + part.intel, part.bytes, from);
      else
        in_use &= ~part.feature;
    }
  }
  std::memcpy(known.data() + kRoomFor, &features, sizeof features);
  std::memcpy(known.data() + kInUse, &in_use, sizeof in_use);
  return known;
}

} // namespace heaptape
