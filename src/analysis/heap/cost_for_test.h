// For tests: costs in words when an expectation fails.
#pragma once

#include <ostream>

#include "analysis/heap/cost.h"

namespace heaptape {

inline void PrintTo(const Cost& cost, std::ostream* out) {
  *out << cost.bytes << " bytes in " << cost.blocks << " blocks";
}

} // namespace heaptape
