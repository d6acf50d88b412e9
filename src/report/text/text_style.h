// How text for people is to look: width and colour of where it is shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heaptape {

struct TextStyle {
  unsigned width = 0; // columns; 0: lines may be as long as they like
  bool color = false;
  bool utf8 = true; // what is drawn may use more than ASCII

  std::string bold(std::string_view text) const { return painted("1", text); }
  std::string dim(std::string_view text) const { return painted("2", text); }
  std::string alarm(std::string_view text) const { return painted("31", text); }
  std::string good(std::string_view text) const { return painted("32", text); }

private:
  std::string painted(std::string_view code, std::string_view text) const {
    if (!color || text.empty()) return std::string(text);
    return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
  }
};

// Columns that UTF-8 text takes, one per character.
std::size_t columns_of(std::string_view text);
// The text cut to at most this many columns, then ending in "…".
std::string shortened(std::string_view text, std::size_t columns);
// The text with lines of more than this many columns broken at blanks, the rest indented a little further; 0: as it is.
// Colours take no columns.
std::string folded_lines(std::string_view text, std::size_t columns);
// The text padded to this many columns, with blanks after it (left) or before it (right).
std::string padded_left(std::string_view text, std::size_t columns);
std::string padded_right(std::string_view text, std::size_t columns);

} // namespace heaptape
