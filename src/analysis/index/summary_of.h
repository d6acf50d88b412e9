// The part of a tape's summary that follows from its events.
#pragma once

#include "analysis/heap/heap_totals.h"
#include "tape/contents.h"

namespace heaptape {

// Duration, losses, ending and note are for the caller to fill in.
inline Summary summary_of(const HeapTotals& totals) {
  Summary summary;
  summary.events = totals.events;
  summary.per_kind = totals.per_kind;
  summary.allocated_bytes = totals.allocated_bytes;
  summary.allocated_blocks = totals.allocated_blocks;
  summary.live_bytes = totals.live_bytes;
  summary.live_blocks = totals.live_blocks;
  summary.peak_bytes = totals.peak_bytes;
  summary.peak_event = totals.peak_event;
  summary.peak_us = totals.peak_us;
  summary.unknown_releases = totals.unknown_releases;
  return summary;
}

} // namespace heaptape
