// Numbers as people read and write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/characters.h" // printable(): numbers and names are shown together
#include "base/result.h"

namespace heaptape {

std::string with_separators(std::uint64_t number);                     // 1,234,567
std::string count_of(std::uint64_t number, std::string_view singular); // "1 block", "1,234 blocks"
std::string count_of(std::uint64_t number, std::string_view singular, std::string_view plural);
std::string bytes_text(std::uint64_t bytes);                       // "812 bytes", "1.27 MB"
std::string exact_bytes_text(std::uint64_t bytes);                 // "812 bytes", "1.27 MB (1,267,712 bytes)"
std::string duration_text(std::uint64_t us);                       // "85 us", "3.20 ms", "1.234 s", "2 min 3.4 s"
std::string seconds_text(std::uint64_t us);                        // "1.000250"
std::string decimal_text(double number, int places);               // "12.50"
std::string percent_text(std::uint64_t part, std::uint64_t whole); // "41.2 %"; of nothing "0.0 %"
std::string local_time_text(std::uint64_t realtime_ns);            // "2025-03-01 14:05:59 +0100"
std::string hex_text(std::string_view bytes);                      // "0a1b..."

// "200M", "1.5GB", "12kB", "4096": bytes. K, M, G and T are powers of 1000; Ki, Mi, Gi and Ti of 1024.
Result<std::uint64_t> parse_bytes(std::string_view text);

} // namespace heaptape
