// Writing JSON by hand, piece by piece.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace heaptape {

// Appends the text as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD, and what a
// terminal would obey is escaped.
void append_json_string(fmt::memory_buffer& out, std::string_view text);
std::string json_string(std::string_view text);

} // namespace heaptape
