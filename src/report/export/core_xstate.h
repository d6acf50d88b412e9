// The registers beyond the general ones, as debuggers can read them from a core file.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace heaptape {

// `area` is XSAVE's area as ptrace gives it. Of processors with more registers than debuggers know of (AMX's tiles) they refuse the whole
// area, so it is cut off behind what they know, and says that there is no more.
std::string xstate_for_debuggers(std::span<const std::byte> area);

} // namespace heaptape
