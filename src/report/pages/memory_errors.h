// What the checks in a program found, in short: how many, and one by one without their stacks. `heaptape errors` says all of it.
#pragma once

#include <cstdint>
#include <string>

#include "tape/contents.h"

namespace heaptape {

// As programs read it: "write-behind", "read-freed", ...; "other" for one of a later version.
const char* error_sort_name(ErrorSort sort);
// "release", "reuse", "exit", ...; "unknown".
const char* found_at_name(FoundAt found);

// All that were found, also those that are not on the tape.
std::uint64_t error_count(const MemoryErrors& errors);
// "3 memory errors"; empty: none.
std::string error_count_text(const MemoryErrors& errors);
// What `info` says of the checks: "full: 3 memory errors; 'heaptape errors' lists them"; empty: the program ran without.
std::string checks_text(const MemoryErrors& errors);

// "4 bytes behind the end of the block of 24 bytes at 0x5600000010 were written, found when it was released".
std::string error_sentence(const MemoryError& error);

} // namespace heaptape
