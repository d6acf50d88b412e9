// What was found goes through the ring like everything else; who reads the tape finds out the stacks of the block.
#pragma once

#include <cstdint>

#include "wire/memory_error.h"

namespace heaptape::recorder {

// Bytes [begin, end) have a pattern of which some are wrong. Reports those, and puts the pattern back.
void report_damage(ErrorSort sort, FoundAt found, char* begin, char* end, std::uint8_t expected, const char* block,
                   std::uint64_t size) noexcept;

// A block that is released with an alignment that is not its own.
void report_alignment(const char* block, std::uint64_t size, std::uint64_t alignment, std::uint64_t given) noexcept;

// Counts an error that is on the tape already, and stops or ends the program where --on-error wants that: a call that released or
// reallocated what is not a live block, and was ignored, or a fault that was passed.
void heed_error() noexcept;

// From when on all blocks are known to be whole.
void note_all_whole(std::uint64_t ticks) noexcept;

// How many errors there were.
[[nodiscard]] std::uint64_t errors_found() noexcept;

} // namespace heaptape::recorder
