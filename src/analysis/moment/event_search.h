// Finds single events by what they are, in both directions, without a heap.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "tape/reader.h"

namespace heaptape {

using AcceptEvent = std::function<bool(const Event&)>;

struct EventSearch {
  AcceptEvent accept{};                   // none: any event
  std::uint64_t first = 1;                // only events from this one
  std::uint64_t last = ~std::uint64_t{0}; // to this one
  std::function<bool()> should_stop{};    // asked now and then; a search that is stopped finds nothing
};

std::optional<Event> find_first_event(const TapeReader& tape, const EventSearch& search);
std::optional<Event> find_last_event(const TapeReader& tape, const EventSearch& search);
// The event with this number; nullopt when it is not on the tape, or damaged.
std::optional<Event> event_numbered(const TapeReader& tape, std::uint64_t number);

// The number of the last event up to and including this time; 0: none.
std::uint64_t last_event_until(const TapeReader& tape, std::uint64_t time_us);

} // namespace heaptape
