// Addresses in, source places out: the DWARF of one file, read only where the addresses are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/source_place.h"
#include "symbols/dwarf_names.h"
#include "symbols/dwarf_unit.h"

namespace heaptape::dwarf {

// The other half of a unit, in a .dwo file or a .dwp package.
struct SplitUnit {
  DebugFile* file = nullptr; // null: it was not found
  const UnitHeader* header = nullptr;
};
// Asked for every skeleton that holds an address. What it gives is used until the next call.
using OpenSplitUnit = std::function<SplitUnit(const Unit& skeleton)>;

class Lookup {
public:
  // Reads where the units have their code. `file` must outlive it; `code` is where the module has code, sorted.
  Lookup(DebugFile& file, std::vector<AddressRange> code, OpenSplitUnit open_split);

  // `addresses` are sorted, without doubles. Where no function is known but a line is, the one place has no function.
  // `progress` is called with the number of addresses done.
  std::vector<SourcePlaces> find(std::span<const std::uint64_t> addresses,
                                 const std::function<void(std::size_t)>& progress);

private:
  struct UnitRange {
    std::uint64_t start, end;
    std::size_t unit;
  };
  struct Answers;

  void look_into(std::size_t unit, std::span<const std::size_t> wanted, Answers& answers);
  void look_into(const Unit& unit, const Unit& entries, std::span<const std::size_t> wanted, Answers& answers);

  DebugFile& file_;
  std::vector<AddressRange> code_;
  OpenSplitUnit open_split_;
  std::vector<UnitRange> ranges_;
  std::vector<std::size_t> anywhere_; // units that do not say where their code is
  FunctionNames names_;
};

} // namespace heaptape::dwarf
