// A look at all blocks at once.
#pragma once

#include "wire/memory_error.h"

namespace heaptape::recorder {

// Reports every block whose redzones or fill are damaged. Takes no lock, so it may run while other threads make and release blocks, and
// in a signal handler.
void sweep(FoundAt found) noexcept;

} // namespace heaptape::recorder
