// The shapes of debugging entries: which attributes a DIE has and how each is stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "symbols/elf_image.h"

namespace heaptape::dwarf {

struct AttributeSpec {
  std::uint16_t name = 0;
  std::uint16_t form = 0;
  std::int64_t implicit_value = 0; // of DW_FORM_implicit_const
};

struct Abbreviation {
  static constexpr std::uint32_t kVariable = ~std::uint32_t{0};

  std::uint64_t code = 0; // 0: there is none
  std::uint16_t tag = 0;
  bool has_children = false;
  bool has_code = false;   // low_pc or ranges is among the attributes
  std::uint32_t first = 0; // attributes, in the table
  std::uint32_t count = 0;
  std::uint32_t fixed_bytes = kVariable; // size of all attributes together, when it is the same in every DIE
};

class AbbreviationTable {
public:
  // The table at `offset` of .debug_abbrev, for units whose offsets take `offset_bytes` (4 or 8). Up to the first entry
  // that makes no sense.
  static AbbreviationTable parse(ByteSpan section, std::uint64_t offset, std::uint8_t offset_bytes);

  // Null: the table has none with this code.
  const Abbreviation* find(std::uint64_t code) const {
    // Compilers number them 1, 2, 3, ...
    if (code - 1 < entries_.size() && entries_[code - 1].code == code) [[likely]]
      return &entries_[code - 1];
    return find_slowly(code);
  }
  const AttributeSpec* begin(const Abbreviation& entry) const { return specs_.data() + entry.first; }
  const AttributeSpec* end(const Abbreviation& entry) const { return specs_.data() + entry.first + entry.count; }

private:
  const Abbreviation* find_slowly(std::uint64_t code) const;

  std::vector<Abbreviation> entries_;
  std::vector<AttributeSpec> specs_;
};

} // namespace heaptape::dwarf
