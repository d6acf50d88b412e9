// One event, as seen outside the recorder.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "wire/event_kind.h"

namespace heaptape {

// The old_size of an mmap without any access (PROT_NONE). Such memory is only reserved.
inline constexpr std::uint64_t kReservedOnly = 1;

struct Event {
  std::uint64_t number = 0;      // counted from 1 over the whole tape, in global order
  std::uint64_t time_us = 0;     // since the start of the recording; never decreases along the tape
  std::uint64_t address = 0;     // the block made or released, or the mapping
  std::uint64_t old_address = 0; // what a Realloc, ReallocArray or Mremap replaces; the pool of PoolAlloc and PoolFree
  std::uint64_t size = 0;        // as asked for; 0 for releases (the block's size is known from its allocation)
  std::uint64_t old_size = 0;    // Mremap; of an mmap see kReservedOnly
  StackId stack;                 // of the call that made the event
  ThreadId thread;
  EventKind kind = EventKind::None;
  bool old_released = false; // Realloc: the old block ended earlier, at a ReallocRelease event

  friend bool operator==(const Event&, const Event&) = default;
};

// For a pool's event the number of the pool; for any other what it replaces, 0: nothing.
constexpr std::uint64_t pool_of(const Event& event) { return is_pool(event.kind) ? event.old_address : 0; }
constexpr std::uint64_t replaced_by(const Event& event) { return is_pool(event.kind) ? 0 : event.old_address; }

// "malloc", "operator new[]", ...; "?" for a number that is not a kind.
const char* kind_name(EventKind kind);

} // namespace heaptape
