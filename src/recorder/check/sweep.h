// A look at all blocks at once.
#pragma once

#include "wire/memory_error.h"

namespace heaptape::recorder {

// Reports every block whose redzones or fill are damaged. Runs while other threads make and release blocks, and at a crash
// takes no lock.
void sweep(FoundAt found) noexcept;

} // namespace heaptape::recorder
