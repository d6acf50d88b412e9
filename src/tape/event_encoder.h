// Turns a run of events into the payload of one EVENTS chunk. Self-contained: a block can be decoded without any other
// block (addresses of blocks allocated in earlier EVENTS chunks are written out). One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tape/event.h"

namespace heaptape {

class EventEncoder {
public:
  // Events per block: large enough to warm the predictors, small enough for a quick seek.
  static constexpr std::size_t kMaxEvents = std::size_t{1} << 16;

  EventEncoder();
  ~EventEncoder();
  EventEncoder(EventEncoder&&) noexcept;
  EventEncoder& operator=(EventEncoder&&) noexcept;

  // Appends the next event; numbers must follow each other, and the encoder must not be full. A time before that of the
  // event before is raised to it. `allocated_at` is the number of the event that made the block
  // which this one releases or replaces (0: unknown); it only makes the block smaller.
  void add(const Event& event, std::uint64_t allocated_at);

  bool empty() const;
  bool full() const;
  std::size_t count() const;
  std::uint64_t first_number() const;

  // Encodes and compresses what was added (not nothing), and starts over. The bytes are valid until the next call.
  std::span<const std::byte> finish();

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace heaptape
