// The recorder's private memory, which nobody is to take for the program's.
#pragma once

#include <cstdint>

#include "wire/layout.h"

namespace heaptape::recorder {

// To be called for each mapping that is made for the recorder. /proc/PID/maps then shows "[anon:heaptape]" on kernels that keep such names
// (5.17, CONFIG_ANON_VMA_NAME); the kernel also keeps memory of another name apart from it. For all others, the collector is told.
void note_own_memory(long memory, std::uint64_t bytes) noexcept;
// Only the name, for the many and small: there is not room for all of them.
void name_own_memory(long memory, std::uint64_t bytes) noexcept;
// Tells a new collector of all that was noted, and of what is noted later. Null: there is none any more.
void tell_own_memory(wire::Header* header) noexcept;

} // namespace heaptape::recorder
