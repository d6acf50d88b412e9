// Where the program called into the library.
#pragma once

#include "recorder/core/call_site.h"

namespace heaptape::recorder {

// Through frames of ours, which all keep a frame pointer.
[[nodiscard]] Frame program_site() noexcept;

} // namespace heaptape::recorder
