// Where a keyframe is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heaptape {

// Where the whole state of the heap after one event can be had.
struct Keyframe {
  std::uint64_t event = 0;
  std::uint64_t time_us = 0;
  std::vector<std::uint64_t> parts{};              // offsets in the file
  std::vector<std::vector<std::byte>> in_memory{}; // the payloads instead, when they could not be written
};

} // namespace heaptape
