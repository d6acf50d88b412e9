// Which functions, and which calls inlined into them, hold given addresses of one unit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "symbols/dwarf_unit.h"

namespace heaptape::dwarf {

// A function's code, or the code of one call that was inlined.
struct CodeScope {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::uint32_t outer = kNone; // scope that the call was inlined into; none for a function
  EntryRef entry;
  // Where the call is that was inlined; 0: not known.
  std::uint64_t call_file = 0;
  std::uint32_t call_line = 0, call_column = 0;
};

struct FoundScopes {
  std::vector<CodeScope> scopes;        // only those that hold an address
  std::vector<std::uint32_t> innermost; // beside the addresses: the innermost scope there, or CodeScope::kNone
};

// One pass over the unit's entries. `addresses` are sorted. Scopes that do not begin in `code` (sorted) are those of
// functions that the linker has thrown away.
FoundScopes find_scopes(const Unit& unit, std::span<const std::uint64_t> addresses, std::span<const AddressRange> code);

} // namespace heaptape::dwarf
