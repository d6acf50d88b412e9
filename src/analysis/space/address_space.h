// What the program's address space looked like at a moment: what the kernel said last, brought up to the moment by the
// events.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/heap/heap_state.h"
#include "analysis/space/space_range.h"
#include "tape/reader.h"

namespace heaptape {

struct AddressSpace {
  std::vector<SpaceRange> ranges{}; // by address, not overlapping
  std::vector<std::string> names{}; // [0] is ""
  std::uint64_t maps_us = 0;        // the moment at which the kernel was asked
  bool from_kernel = false; // false: the tape has no MAPS, all is guessed from modules, mapping events and live blocks

  // The range that holds this address, or nullptr.
  const SpaceRange* find(std::uint64_t address) const;
  // The first range that ends above this address, or one past the last.
  std::size_t first_above(std::uint64_t address) const;
};

// Rests on the last moment of MAPS up to the state's time (or the first one after it) and on the mapping events since
// then. Every live block lies in a range: where the kernel was asked too early to show it, the next moment says what is
// there, or else the blocks themselves. Takes some ms, and about 0.1 s for a million live blocks. `time_us`: a moment after
// the state's last event and before the next one, for the kernel may have been asked in between.
AddressSpace address_space_at(const TapeReader& tape, const HeapState& state, std::uint64_t time_us = 0);

} // namespace heaptape
