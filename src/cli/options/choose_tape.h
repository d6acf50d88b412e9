// The tape a command is about.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tape/reader.h"

namespace heaptape::cli {

// The newest *.tape of a folder; NotFound when there is none.
Result<std::string> newest_tape(const std::string& folder);

// Whether a word of the command line that may be a tape is one: it is named *.tape, or there is such a file.
bool may_be_tape(const std::string& word);

// For an option that takes all words up to the next option: removes and returns the last word when it is a tape. It is
// one when it is named *.tape, or when there is such a file and it begins as tapes do. Empty: it is not.
std::string take_tape_at_end(std::vector<std::string>& words);

// When `name` is empty, makes it the newest tape in the current directory, and says so on standard error.
Result<> choose_tape(std::string& name);

// `name` or, when it is empty, the newest tape in the current directory, which is then named on standard error.
Result<TapeReader> open_chosen_tape(std::string& name);

} // namespace heaptape::cli
