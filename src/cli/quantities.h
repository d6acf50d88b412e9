// Numbers as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

std::string with_separators(std::uint64_t number);                     // 1,234,567
std::string count_of(std::uint64_t number, std::string_view singular); // "1 block", "1,234 blocks"
std::string count_of(std::uint64_t number, std::string_view singular, std::string_view plural);
std::string bytes_text(std::uint64_t bytes);            // "812 bytes", "1.27 MB"
std::string exact_bytes_text(std::uint64_t bytes);      // "812 bytes", "1.27 MB (1,267,712 bytes)"
std::string duration_text(std::uint64_t us);            // "85 us", "3.20 ms", "1.234 s", "2 min 3.4 s"
std::string seconds_text(std::uint64_t us);             // "1.000250"
std::string local_time_text(std::uint64_t realtime_ns); // "2025-03-01 14:05:59 +0100"
std::string hex_text(std::string_view bytes);           // "0a1b..."
// The text with control characters shown as \xNN: names on a tape may hold anything, and a terminal obeys.
std::string printable(std::string_view text);

} // namespace heaptape::cli
