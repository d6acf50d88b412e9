// Reads the text of /proc/PID/maps.
#pragma once

#include <string_view>
#include <vector>

#include "tape/maps.h"

namespace heaptape {

// By address. Names are kept as the kernel writes them, with " (deleted)" and "\012" for a newline. Lines that make no sense, or are
// not above the line before, are left out. Takes hostile text: a name may hold anything but a newline.
std::vector<MappedRange> parse_maps_text(std::string_view text, MapNames& names);

} // namespace heaptape
