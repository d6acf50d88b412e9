// Where glibc's malloc keeps its lists of free memory, in a snapshot.
//
//   struct malloc_state         +0 mutex, +4 flags, +8 a flag about fast bins, +16 fast bins (10 words), +96 top, +104 last remainder,
//   (glibc 2.27 to 2.42, 64 bit)   +112 bins (254 words), +2144 map of bins, +2160 next, +2168 next free, +2176 threads,
//                               +2184 bytes from the system, +2192 the most there were
//
// The first arena is a variable, main_arena, of a module. Without symbols it is found by its bins: an empty one points to itself.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/memory/memory_image.h"

namespace heaptape {

struct GlibcArena {
  static constexpr std::uint64_t kBytes = 2200;
  static constexpr std::uint64_t kFastBins = 16, kTop = 96, kBins = 112, kNext = 2160, kSystemBytes = 2184;
  static constexpr std::uint32_t kFastBinCount = 10, kBinCount = 127, kMostArenas = 4096;
};

// The address of main_arena in this range, which is the variables of a module; nullopt: it is not there.
std::optional<std::uint64_t> find_main_arena(MemoryCursor& cursor, std::uint64_t begin, std::uint64_t end);

} // namespace heaptape
