// Numbers as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/number_text.h"
#include "base/result.h"

namespace heaptape::cli {

// A place on a tape: an event's number, or a time since the start of the recording.
struct Position {
  bool is_time = false;
  std::uint64_t value = 0; // event number, or microseconds
  friend bool operator==(const Position&, const Position&) = default;
};

// "1234" is an event; "12.5s", "200ms", "300us" (or "µs") and "2min" are times.
Result<Position> parse_position(const std::string& text);

using heaptape::bytes_text;
using heaptape::count_of;
using heaptape::duration_text;
using heaptape::exact_bytes_text;
using heaptape::printable;
using heaptape::seconds_text;
using heaptape::with_separators;
std::string local_time_text(std::uint64_t realtime_ns); // "2025-03-01 14:05:59 +0100"
std::string hex_text(std::string_view bytes);           // "0a1b..."

} // namespace heaptape::cli
