// What --help prints: a command's usage and purpose, its options as a table, and more.
#pragma once

#include <string>
#include <string_view>

#include "options/option_list.h"

namespace heaptape {

// What --help says around the list of options.
struct CommandHelp {
  std::string_view usage;   // "heaptape dump [options] [TAPE]"
  std::string_view purpose; // a sentence or two
  std::string_view more;    // examples and what else is worth knowing; ends with a newline
};

// Paragraphs of sentences broken at the width of a terminal line; examples, lists and headings as they are.
std::string wrapped_text(std::string_view text);

// A label and, in the column beside it or below it, a text wrapped to the width.
std::string row_text(std::string label, std::string_view text, std::size_t column, std::size_t width);

// One line or more per option: its names, and beside them its description, wrapped to the width of a terminal line.
std::string options_text(const OptionList& list);

// All of it. The option --help, which every list has, comes last.
std::string help_text(const OptionList& list, const CommandHelp& help);

// For programs: a line per option and word with its parts between tabs: short name, long name, where its value stands
// (none, next, maybe, attached, series, word), the value's name, its choices between spaces, the description.
std::string options_table(const OptionList& list);

} // namespace heaptape
