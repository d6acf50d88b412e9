// Payloads of RUNTIME CODE chunks, before compression. Each can be read alone.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tape/symbols.h"

namespace heaptape {

// As many payloads as are needed, none larger than a chunk may hold; none at all when there is no such code.
std::vector<std::vector<std::byte>> encode_run_time_code(std::span<const RunTimeCode> codes);

// Adds to `symbols`. Takes hostile bytes; false, with everything up to there added, when they make no sense.
bool parse_run_time_code(std::span<const std::byte> payload, Symbols& symbols);

} // namespace heaptape
