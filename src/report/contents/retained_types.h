// What would be gone with all blocks of a type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/memory/dominators.h"

namespace heaptape {

// By type: what its blocks retain one by one, each byte once: what a block retains is part of what another one of its type retains that
// holds it. Blocks that cannot be reached retain nothing. `type_of` gives each block's type, a number below `types`.
std::vector<std::uint64_t> retained_by_type(const Dominators& dominators, std::span<const std::uint32_t> type_of,
                                            std::size_t types);

} // namespace heaptape
