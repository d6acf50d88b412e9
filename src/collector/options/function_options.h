// Functions of the program's libraries that the user wants counted as allocations: --alloc-fn, --free-fn.
//
//   NAME[:SIZE-ARG[:COUNT-ARG]][=POOL]   it returns a block of SIZE (times COUNT) bytes in a pool (default: its name)
//   NAME[:PTR-ARG]                       it frees such a block, from whichever of these pools has it
//
// Arguments are counted from 1 to 6; without a number the first is meant. A SIZE-ARG of 0 says that no argument is the
// size: blocks are counted, not bytes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "collector/options/collector_options.h"

namespace heaptape {

// Checks a list that is separated by commas and takes it apart; the sentence of an Error says what is wrong with which.
Result<std::vector<std::string>> parse_alloc_functions(const std::string& text);
Result<std::vector<std::string>> parse_free_functions(const std::string& text);
// The list again, as the recorder reads it.
std::string functions_text(const std::vector<std::string>& functions);

// The recorder's table has this much room.
Result<> check_function_count(const CollectorOptions& options);

// A sentence for those whose calls were never found, when `found` are the names of those that were.
std::vector<std::string> unseen_functions(const CollectorOptions& options, const std::set<std::string>& found);

} // namespace heaptape
