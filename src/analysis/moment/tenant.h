// The life of a block as seen from the memory that it covered.
#pragma once

#include <cstddef>
#include <cstdint>

#include "analysis/heap/owner.h"
#include "tape/event.h"

namespace heaptape {

// [begin, end), not empty.
struct MemoryRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  // Whether a block shares a byte with it. A zero-byte block still owns its address.
  bool meets(std::uint64_t address, std::uint64_t size) const {
    const std::uint64_t bytes = size == 0 ? 1 : size;
    return address < end && (address >= begin || begin - address < bytes);
  }
};

// How a block's life ended.
enum class LifeEnd : std::uint8_t {
  Live,        // not up to the moment asked about
  Released,    // free, delete, ..., or realloc to nothing
  Reallocated, // replaced by another block, maybe at the same place
  Unseen,      // another block was made over it, so it ended before; its release is not on the tape
};

// A block that covered some of the range, from when to when.
struct Tenant {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  EventKind kind = EventKind::None; // of the event that made it
  std::uint64_t event = 0;
  std::uint64_t time_us = 0;
  Owner owner{};
  bool inherited = false; // the parent made it, before the fork: event and time are 0, the owner's thread is not known
  std::uint64_t age_us = 0; // inherited: at the fork
  std::uint64_t from = 0;   // a realloc made it of the block at this address; 0: it did not

  LifeEnd ended = LifeEnd::Live;
  EventKind end_kind = EventKind::None;
  std::uint64_t end_event = 0; // of Unseen: the one that made the other block
  std::uint64_t end_us = 0;
  Owner ender{};        // stack and thread of that event
  std::uint64_t to = 0; // Reallocated: where its successor is

  // How long it had lived at this time, or up to its end.
  std::uint64_t lived_us(std::uint64_t until_us) const {
    return age_us + until_us - (until_us < time_us ? until_us : time_us);
  }

  friend bool operator==(const Tenant&, const Tenant&) = default;
};

// Of releases where no block began, the first are kept: a program that goes on after a hundred of them is beyond help.
inline constexpr std::size_t kMostBadReleases = 100;

} // namespace heaptape
