// Payloads of MAPS chunks, before compression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tape/maps.h"

namespace heaptape {

// `first` is the number of the first change, counted from the start of the recording; the others follow it. `names`
// holds the ranges' names; those in use go with them.
void put_maps(std::uint64_t first, std::span<const MapsChange> changes, const MapNames& names,
              std::vector<std::byte>& out);

// Adds to what earlier chunks gave. Takes hostile bytes; false, with everything up to there added, when they make no
// sense.
bool parse_maps(std::span<const std::byte> payload, Maps& maps);

} // namespace heaptape
