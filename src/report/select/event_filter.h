// Which events of a tape a command is about: a stretch of it, a thread, some kinds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/select/kind_set.h"
#include "tape/event.h"

namespace heaptape {

// A place on a tape: an event's number, or a time since the start of the recording.
struct Position {
  bool is_time = false;
  std::uint64_t value = 0; // event number, or microseconds
  friend bool operator==(const Position&, const Position&) = default;
};

// "1234" is an event; "12.5s", "200ms", "300us" (or "µs") and "2min" are times.
Result<Position> parse_position(const std::string& text);

struct EventFilter {
  std::optional<Position> from, to; // both inclusive
  std::optional<std::vector<ThreadId>> threads;
  KindSet kinds;

  bool accepts(const Event& event) const;
  // No later event can be accepted.
  bool is_past(const Event& event) const;
};

} // namespace heaptape
