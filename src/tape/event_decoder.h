// Turns the payload of an EVENTS chunk back into events. Takes hostile bytes: whatever they are, it ends, stays within
// its memory (about 1 MB and the size of the columns) and gives at most as many events as the chunk's head says.
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tape/event.h"
#include "tape/event_chunk.h"
#include "tape/tape_parts.h"

namespace heaptape {

class EventDecoder {
public:
  explicit EventDecoder(Checksums checksums = Checksums::Verify);
  ~EventDecoder();
  EventDecoder(EventDecoder&&) noexcept;
  EventDecoder& operator=(EventDecoder&&) noexcept;

  // Begins a new chunk; false when its head or its columns make no sense. The payload is not needed after the call.
  bool start(std::span<const std::byte> payload);

  // Fills the front of `room`, which is not empty, with the next events of the chunk; none at its end, or when the rest
  // makes no sense.
  std::span<Event> next(std::span<Event> room);

  // Whether the chunk ended before the count in its head.
  bool failed() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace heaptape
