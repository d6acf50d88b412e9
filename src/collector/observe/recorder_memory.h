// Which of the program's mappings are the recorder's own. Kernels that keep names for memory without a file say it; where they do not, the
// recorder has told, and the mappings get the name that they would have had.
#pragma once

#include <vector>

#include "tape/maps.h"
#include "wire/layout.h"

namespace heaptape {

// `ranges` by address. One that the kernel has joined with memory of the program is cut. The header may say anything.
void name_recorder_memory(std::vector<MappedRange>& ranges, MapNames& names, const wire::Header& header);

} // namespace heaptape
