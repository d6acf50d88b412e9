// Where the program called into the library, through frames of ours, which all keep a frame pointer.
#pragma once

#include "recorder/core/call_site.h"

namespace heaptape::recorder {

[[gnu::noinline]] Frame program_site() noexcept;

} // namespace heaptape::recorder
