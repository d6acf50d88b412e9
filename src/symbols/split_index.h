// The index of a .dwp package: which parts of its sections belong to which unit.
#pragma once

#include <cstdint>
#include <map>

#include "symbols/dwarf_unit.h"

namespace heaptape::dwarf {

class SplitIndex {
public:
  // .debug_cu_index, of version 2 (GNU) or 5. Empty when it makes no sense.
  explicit SplitIndex(ByteSpan section);

  // The sections of the package cut down to the unit's parts; nullopt: the package does not have it.
  std::optional<Sections> sections_of(std::uint64_t dwo_id, const Sections& package) const;

private:
  struct Part {
    std::uint32_t offset = 0, size = 0;
  };
  std::uint32_t version_ = 0;
  std::map<std::uint64_t, std::map<std::uint32_t, Part>> units_; // by dwo_id; then by SplitIndexColumn
};

} // namespace heaptape::dwarf
