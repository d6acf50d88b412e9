// Differences as people read them: with a sign, unless they are 0.
#pragma once

#include <cstdint>
#include <string>

namespace heaptape {

std::string signed_bytes_text(std::int64_t bytes);       // "+1.27 MB", "-812 bytes", "0 bytes"
std::string signed_exact_bytes_text(std::int64_t bytes); // "-60.0 kB (-60,000 bytes)"
std::string signed_count_text(std::int64_t count);       // "-1,234"

} // namespace heaptape
