// DWARF expressions, as far as unwind tables use them.
#pragma once

#include <cstdint>

#include "recorder/core/cfi.h"

namespace heaptape::recorder {

// Reads one word of memory; false when it cannot be read.
using ReadWord = bool (*)(void* context, std::uint64_t address, std::uint64_t& word) noexcept;

// Evaluates `expression` (length, then operations) over the registers; `cfa` is on the stack first if `push_cfa`. False when
// it is malformed, too long, or reads what cannot be read.
[[nodiscard]] bool evaluate(const std::uint8_t* expression, const std::uint64_t (&registers)[kRegisters], bool push_cfa,
                            std::uint64_t cfa, ReadWord read, void* context, std::uint64_t& result) noexcept;

} // namespace heaptape::recorder
