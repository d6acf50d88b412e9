// The payload of MEMORY ERRORS chunks. put_ appends to `out`; parse_ takes hostile bytes and returns false, with the target in
// some valid state, when these make no sense. Bytes after what is known here belong to a later minor version and are ignored.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tape/contents.h"

namespace heaptape {

void put_memory_errors(const MemoryErrors& errors, std::vector<std::byte>& out);
// Adds to what earlier chunks gave: at most kMostMemoryErrors in all, of each at most wire::kErrorBytes bytes and
// wire::kErrorFunctionBytes of the name.
bool parse_memory_errors(std::span<const std::byte> payload, MemoryErrors& errors);

} // namespace heaptape
