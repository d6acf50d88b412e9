// The payload of CRASH, before compression; as contents_codec.h.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tape/crash.h"

namespace heaptape {

void put_crashes(std::span<const Crash> crashes, std::vector<std::byte>& out);
// Adds to what earlier chunks gave.
bool parse_crashes(std::span<const std::byte> payload, std::vector<Crash>& crashes);

} // namespace heaptape
