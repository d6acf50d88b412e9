// `heaptape check --mode fail --fail-from FUNCTION`: where that function lies.
#pragma once

#include <string>

#include "base/result.h"

namespace heaptape::cli {

// Of the program's file and of the libraries that it is linked with, what the recorder is to compare call stacks with:
// ",from=1180-11c4,from=5a20-5a80@libx.so.1". `name` as it is written, with its namespaces, or a linkage name; without parameters it
// means all overloads. An Error when there is none.
Result<std::string> failing_functions(const std::string& program, const std::string& name);

} // namespace heaptape::cli
