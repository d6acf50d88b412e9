#pragma once

#include <span>

namespace heaptape::cli {

// The arguments after the command's name. They live as long as the process.
using Arguments = std::span<const char* const>;

} // namespace heaptape::cli
