// Finds libheaptape.so beside the running heaptape, installed or in a build tree.
#pragma once

#include <string>

#include "base/result.h"

namespace heaptape::cli {

// The path of the running binary.
Result<std::string> own_path();

// `binary` as from own_path(); `chosen` (may be null) is the user's own choice, HEAPTAPE_LIBRARY. The result is an
// absolute path that LD_PRELOAD can hold.
Result<std::string> find_recorder_library(const std::string& binary, const char* chosen);

} // namespace heaptape::cli
