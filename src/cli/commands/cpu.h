// What the commands about CPU time share.
#pragma once

#include <cstdint>
#include <string>

#include "tape/reader.h"

namespace heaptape::cli {

// Why there is nothing to show: no profile at all, or no such segment (0: none was named), or nothing in it.
std::string no_cpu_sentence(const TapeReader& tape, std::uint32_t segment);

} // namespace heaptape::cli
