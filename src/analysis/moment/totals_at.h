// The totals of the heap at several moments, in one pass over the events up to the last of them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "analysis/heap/heap_totals.h"
#include "tape/reader.h"

namespace heaptape {

// `events` are numbers in ascending order; the result has the totals after each. Those behind the end of the tape are
// the last ones. When `should_stop` returns true, the result is shorter. What cannot be read is added to `damage`.
std::vector<HeapTotals> totals_at(const TapeReader& tape, std::span<const std::uint64_t> events,
                                  const std::function<bool()>& should_stop, std::vector<Damage>& damage);

} // namespace heaptape
