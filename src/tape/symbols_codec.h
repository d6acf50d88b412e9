// Payloads of SYMBOLS chunks, before compression. Each can be read alone.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tape/symbols.h"

namespace heaptape {

// As many payloads as are needed, none larger than a chunk may hold; none at all when nothing is known.
std::vector<std::vector<std::byte>> encode_symbols(const Symbols& symbols);

// Adds to `symbols`; an address that was known before is replaced. Takes hostile bytes; false, with everything up to
// there added, when they make no sense.
bool parse_symbols(std::span<const std::byte> payload, Symbols& symbols);

} // namespace heaptape
