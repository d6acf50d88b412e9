// Puts the allocator that checks in the place of the real one, when the program's environment asks for it.
#pragma once

#include "recorder/hooks/real.h"

namespace heaptape::recorder {

// To be called with the functions that were found, before anybody else calls them.
void choose_checks(RealFunctions& found) noexcept;

} // namespace heaptape::recorder
