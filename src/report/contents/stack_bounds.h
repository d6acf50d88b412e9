// How much of its stack a thread uses at a snapshot, and how much there is.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/heap/block_map.h"
#include "report/contents/snapshot_memory.h"
#include "tape/reader.h"

namespace heaptape {

struct StackBounds {
  std::uint64_t begin = 0; // of the memory that the stack is in now
  std::uint64_t end = 0;   // where the outermost frame begins, or nearly
  std::uint64_t used_bytes = 0;
  std::uint64_t touched_bytes =
      0;                         // from `end` down to the lowest page that was ever written; of an earlier thread, too
  std::uint64_t limit_bytes = 0; // it can become as large; 0: not known
  bool other = false;            // not the thread's own: an alternate stack for signals, a coroutine's
};

// Of a thread that was stopped. `block` is the live one that its stack pointer leads to, as that of a coroutine may. All zero: it leads
// nowhere.
StackBounds stack_bounds(const TapeReader& tape, const SnapshotMemory& memory, const ThreadState& thread,
                         const std::optional<Block>& block);

} // namespace heaptape
