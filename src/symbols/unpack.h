// Decompression of what debug files hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "symbols/section_bytes.h"

namespace heaptape {

enum class Packing : std::uint8_t { Zlib, Zstd };

// Exactly `size` bytes, or empty when the input does not give them. A size that no packing reaches is refused
// beforehand.
SectionBytes unpack(Packing packing, ByteSpan packed, std::uint64_t size);

// An xz file, as in .gnu_debugdata; empty when it makes no sense or would become larger than 1 GiB.
std::vector<std::byte> unpack_xz(ByteSpan packed);

} // namespace heaptape
