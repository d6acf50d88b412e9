// What some blocks of one stack cost; lists of these are what reports are made of.
#pragma once

#include <cstdint>

#include "analysis/heap/cost.h"
#include "base/ids.h"

namespace heaptape {

struct StackCost {
  StackId stack;
  ThreadId thread{};
  Cost cost{};
  std::uint32_t size_bucket = 0; // log_bucket() of the blocks' size; only looked at by GroupBy::Size
};

} // namespace heaptape
