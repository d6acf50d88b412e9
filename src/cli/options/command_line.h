// Options of one command: parsed by CLI11, explained in our own words.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <string_view>

#include "cli/options/arguments.h"

namespace heaptape::cli {

// What --help says around the list of options.
struct CommandHelp {
  std::string_view usage;   // "heaptape dump [options] [TAPE]"
  std::string_view purpose; // a sentence or two
  std::string_view more;    // examples and what else is worth knowing; ends with a newline
};

// Paragraphs of sentences broken at the width of a terminal line; examples, lists and headings as they are.
std::string wrapped_text(std::string_view text);

// An option's description wrapped to the width of a terminal line, beside its names.
std::string help_text(const CLI::App& app, const CommandHelp& help);

// Parses; the result is an exit status when the command is over: help was shown, or the options were wrong.
std::optional<int> parse(CLI::App& app, const CommandHelp& help, Arguments arguments);

} // namespace heaptape::cli
