// Formats at the end of a text. fmt::format_to() does the same, but compiles fmt's whole engine in every file that calls it; this
// is compiled once (fmt.cpp).
#pragma once

#include <string>

#include <fmt/format.h>

namespace heaptape {

void vformat_into(fmt::memory_buffer& to, fmt::string_view format, fmt::format_args args);
void vformat_into(std::string& to, fmt::string_view format, fmt::format_args args);

template <class Text, class... Args>
void format_into(Text& to, fmt::format_string<Args...> format, Args&&... args) {
  vformat_into(to, format, fmt::make_format_args(args...));
}

} // namespace heaptape
