// Whom a block belongs to.
#pragma once

#include <compare>

#include "base/ids.h"

namespace heaptape {

// The stack and the thread that made it; after a realloc, those of the realloc.
struct Owner {
  StackId stack;
  ThreadId thread;
  friend constexpr auto operator<=>(const Owner&, const Owner&) = default;
};

} // namespace heaptape
