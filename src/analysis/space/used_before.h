// Which places of the heap ever held a block: what is free now was either used before, or never.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "analysis/index/index.h"
#include "analysis/space/heap_cells.h"
#include "tape/reader.h"

namespace heaptape {

struct UsedBefore {
  // As the grids were given: a byte per cell, 1 when a block lay in it at some moment up to the one asked for.
  std::vector<std::vector<std::uint8_t>> cells;
  // False: the tape is long, so only its keyframes were looked at. Then a cell that is marked was used, and one that is
  // not may have been.
  bool exact = true;
};

struct AskUsedBefore {
  std::uint64_t until = 0; // event
  // More events than these are not gone through; three million take a tenth of a second.
  std::uint64_t most_events = std::uint64_t{16} << 20;
  std::size_t most_keyframes = 24;     // evenly spread, where there are more events
  std::function<bool()> should_stop{}; // true: what was found so far will do, and is not exact
};

// Grids are sorted by address, both by their begin and by their end; they may share addresses.
UsedBefore used_before(const TapeReader& tape, const Index& index, std::span<const CellGrid> grids,
                       const AskUsedBefore& ask);

} // namespace heaptape
