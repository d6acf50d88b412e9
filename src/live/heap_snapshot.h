// One moment of a running program, as it goes from the counting to the writing thread: what changed, and what is needed
// to name it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/heap/cost.h"
#include "base/ids.h"
#include "live/live_heap.h"
#include "tape/contents.h"

namespace heaptape {

struct HeapSnapshot {
  std::uint64_t time_us = 0;
  std::uint64_t event = 0; // the last one before it
  Cost allocated{}, freed{};
  std::uint64_t peak_bytes = 0;
  // Since the snapshot before, per stack.
  std::uint64_t churn_bytes = 0;
  std::vector<StackTally> changes{};
  // New since the snapshot before.
  std::vector<Module> modules{};
  StackId first_stack{};
  std::vector<StackNode> stacks{};

  Cost live() const { return allocated - freed; }
};

} // namespace heaptape
