// A line of the shell as words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heaptape {

struct Word {
  std::string text; // without the quotes around or in it
  std::string raw;  // as it was typed
};

// Splits a line at spaces. '...' and "..." keep spaces together, also in the middle of a word; a backslash takes the next character as
// it is, except between single quotes. An open quote is refused.
Result<std::vector<Word>> split_words(std::string_view line);

// As they come from main(): quotes are ordinary characters.
std::vector<Word> as_words(const std::vector<std::string>& arguments);

} // namespace heaptape
