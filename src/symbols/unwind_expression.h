// DWARF expressions, as far as unwind tables use them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "symbols/section_bytes.h"

namespace heaptape {

// A word of the program's memory; nullopt: not known.
using ReadWord = std::function<std::optional<std::uint64_t>(std::uint64_t address)>;

// `registers` by DWARF number. `first` is on the stack at the beginning, if it is given. nullopt: the expression makes no sense, takes too
// long, or asks for what is not known.
std::optional<std::uint64_t> evaluate_expression(ByteSpan expression, std::span<const std::uint64_t> registers,
                                                 std::optional<std::uint64_t> first, const ReadWord& read);

} // namespace heaptape
