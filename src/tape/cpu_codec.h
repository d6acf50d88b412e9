// The payload of CPU chunks, before compression.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tape/cpu_profile.h"

namespace heaptape {

void put_cpu(std::span<const CpuSegment> segments, std::span<const CpuSample> samples, std::vector<std::byte>& out);

// Adds to what earlier blocks gave; a later segment with the same number replaces the earlier. False, with the profile
// in some valid state, when the bytes make no sense.
bool parse_cpu(std::span<const std::byte> payload, CpuProfile& profile);

} // namespace heaptape
