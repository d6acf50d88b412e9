// One moment of MAPS as ranges with a meaning: heaps, arenas, stacks, modules. Private to analysis/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/space/range_table.h"
#include "tape/contents.h"
#include "tape/maps.h"
#include "tape/memory_snapshot.h"

namespace heaptape {

inline constexpr std::uint64_t page_of(std::uint64_t address) { return address & ~(kPageBytes - 1); }
inline constexpr std::uint64_t page_end(std::uint64_t address) { return page_of(address + kPageBytes - 1); }
// A heap of another arena of glibc has this size and is aligned to it.
inline constexpr std::uint64_t kGlibcHeapBytes = std::uint64_t{64} << 20;

// The names are those of `maps`. A stack is that of the latest thread that began on it up to `time_us`; whether that
// still runs is not asked, for of a thread that only waits a tape says the same as of one that is gone.
RangeTable kernel_ranges(const Maps& maps, std::size_t moment, const std::vector<Module>& modules,
                         const std::vector<Thread>& threads, std::uint64_t time_us);

} // namespace heaptape
