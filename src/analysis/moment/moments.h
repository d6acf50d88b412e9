// Findings about one moment of a tape, or about a part of it.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/heap/heap_state.h"
#include "analysis/index/findings.h"
#include "analysis/index/index.h"
#include "tape/reader.h"

namespace heaptape {

struct OwnerCost {
  Owner owner;
  Cost cost;
  friend bool operator==(const OwnerCost&, const OwnerCost&) = default;
};

// What is live, by owner (stack, then thread).
std::vector<OwnerCost> live_by_owner(const HeapState& state);

// The events after `after` up to and including `until`. Of what was allocated in them:
struct WindowFigures {
  Owner owner;
  Cost allocated; // all
  Cost live;      // what was still live after the last of them
  friend bool operator==(const WindowFigures&, const WindowFigures&) = default;
};
struct Window {
  std::uint64_t after = 0; // event numbers
  std::uint64_t until = 0;
};
// By owner; only those that allocated. A realloc in the window makes a block of its own.
std::vector<WindowFigures> window_figures(const TapeReader& tape, const Index& index, Window window);

} // namespace heaptape
