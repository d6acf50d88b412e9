// UTF-8, and which characters a terminal would obey instead of showing them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heaptape {

struct Character {
  std::uint32_t code = 0; // of Unicode; of a byte that is not UTF-8, the byte
  std::size_t bytes = 0;  // that it takes; 0: the first byte is not the beginning of a character
};

// The first character of a text that is not empty. Surrogates, overlong forms and numbers beyond Unicode are none.
Character first_character(std::string_view text);

// Whether it does something to a terminal, or to what stands beside it: control characters (C0, DEL, C1), marks and
// overrides of the writing direction, separators of lines.
constexpr bool is_obeyed(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

// The text as it may be shown anywhere: what a terminal would obey, and bytes that are not UTF-8, as \x1b or \u202e.
// Names on a tape may hold anything.
std::string printable(std::string_view text);
// The same for lines of text: their ends and tabs stay.
std::string printable_lines(std::string_view text);

} // namespace heaptape
