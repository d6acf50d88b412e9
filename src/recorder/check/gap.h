// The bytes between two blocks, in which nobody may write, and whose fault it is when somebody has.
#pragma once

#include <cstdint>

#include "recorder/check/region.h"
#include "wire/memory_error.h"

namespace heaptape::recorder {

// Redzones of a small block that is live or was released with these facts: behind it, and the one before it.
[[nodiscard]] bool are_redzones_whole(const Slot& slot, BlockFacts facts) noexcept;
// Reports what is wrong there. What is in the gap to a neighbour may be the neighbour's doing.
[[gnu::noinline, gnu::cold]] void report_redzones(const Slot& slot, BlockFacts facts, FoundAt found) noexcept;

// What was written into a released block.
[[gnu::noinline, gnu::cold]] void report_released(char* block, std::uint64_t size, FoundAt found) noexcept;

} // namespace heaptape::recorder
