// The registers beyond the general ones, as debuggers can read them from a core file.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace heaptape {

// `area` is XSAVE's area as ptrace gives it. Debuggers know the places that Intel's processors give to registers, and refuse an area of any
// other size: from an area of AMD's, registers are moved there. Of processors with more registers than debuggers know of (AMX's tiles) the
// area is cut off behind what they know, and says that there is no more.
std::string xstate_for_debuggers(std::span<const std::byte> area);

} // namespace heaptape
