// The full interpreter of unwind tables: from any instruction to the caller, whatever registers that takes. Slow; for signal frames,
// and for frames that were interrupted anywhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/core/call_site.h"
#include "recorder/core/cfi.h"
#include "recorder/core/readable.h"

namespace heaptape::recorder {

// Reads stack words anywhere the kernel lets us; remembers the page it asked about last.
struct WalkMemory {
  const StackMemory* stack;
  std::uint64_t good_page = 1; // no page
};

// A frame on the way outward.
struct Walk {
  std::uint64_t registers[kRegisters]; // by DWARF number; [kReturn] is pc
  std::uint64_t pc;
  bool exact; // pc is where the thread was interrupted, not a return address
};

enum class WalkStep : std::uint8_t {
  Taken,
  Ended, // this was the outermost frame
  Cut,   // there is no way on
};

// Goes from a frame to its caller; `walk` stays as it is unless the step is taken.
[[nodiscard]] WalkStep full_step(Walk& walk, WalkMemory& memory) noexcept;

// Whether a frame of the calling thread, from `site` outward, has a pc that is wanted. For a way that is seldom taken.
[[nodiscard]] bool any_frame(const Frame& site, bool (*is_wanted)(std::uint64_t pc)) noexcept;

// The number of the stack with these pcs, innermost first. `mark`: why outer frames are missing, or 0. The pcs' modules become known,
// but the innermost one's not when `innermost_known`.
[[nodiscard]] std::uint32_t intern_pcs(const std::uint64_t* pcs, std::size_t count, std::uint64_t mark,
                                       bool innermost_known) noexcept;

} // namespace heaptape::recorder
