// Runs lines of the shell, and completes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "shell/printer.h"
#include "shell/session.h"

namespace heaptape {

enum class LineEnd : std::uint8_t { GoOn, Quit };

// Empty lines, and what follows a '#' that begins a word, mean nothing. An Error is one line for the user (two when it points at a place)
// and changes nothing.
Result<LineEnd> run_line(Session& session, std::string_view line, Printer& out);

// What the word that ends at the end of `text` may be completed to: whole words that begin as it does, sorted.
std::vector<std::string> completions(Session& session, std::string_view text);
// Where that word begins.
std::size_t completed_from(std::string_view text);

// "(event 1,234, 12.5 s) "
std::string prompt_of(const Session& session);

} // namespace heaptape
