// Sums over the heap events seen so far, exact after every event. Mappings are counted by kind only.
#pragma once

#include <array>
#include <cstdint>

#include "wire/event_kind.h"

namespace heaptape {

struct HeapTotals {
  std::uint64_t events = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(EventKind::TapeKinds)> per_kind{};
  // Ever allocated. A realloc that yields a block counts with its new size.
  std::uint64_t allocated_bytes = 0;
  std::uint64_t allocated_blocks = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t live_blocks = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t peak_event = 0; // the first event after which live_bytes was peak_bytes
  std::uint64_t peak_us = 0;
  std::uint64_t unknown_releases = 0; // of blocks that were not allocated in the events seen
  std::uint64_t collisions = 0;       // allocations at an address that was live; the earlier block is given up

  friend bool operator==(const HeapTotals&, const HeapTotals&) = default;
};

} // namespace heaptape
