// Which heaptape this is.
#pragma once

#include <string>

namespace heaptape::cli {

// The commit of its sources, with "-dirty" when they were changed; "unknown" outside a checkout.
extern const char* const kBuildCommit;

// "heaptape 0.2.0 (commit 1a2b3c4d5e, GCC 12.2.0)".
std::string version_text();

} // namespace heaptape::cli
