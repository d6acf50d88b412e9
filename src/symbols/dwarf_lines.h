// Line tables: which source line each instruction comes from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/dwarf_unit.h"

namespace heaptape::dwarf {

struct LineRow {
  std::uint32_t file = 0; // for LineTable::path()
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

// The line table of one unit: its file names, read at once, and its rows, read on demand.
class LineTable {
public:
  // Of a split unit the one of its skeleton. Empty when there is none or it makes no sense.
  explicit LineTable(const Unit& unit);

  // The file with this number, as written by the compiler, with the unit's directory in front of a relative path.
  // Empty: there is none.
  std::string path(std::uint64_t file) const;

  // The rows that hold the instructions at `addresses`, which are sorted; nullopt where none does. Sequences that do
  // not begin in `code` (sorted) are those of functions that the linker has thrown away.
  std::vector<std::optional<LineRow>> find(std::span<const std::uint64_t> addresses,
                                           std::span<const AddressRange> code) const;

private:
  struct FileName {
    std::string_view name;
    std::uint64_t directory = 0;
  };

  void read_older_names(ByteReader& reader);
  bool read_names(ByteReader& reader, std::vector<FileName>& names);

  const Unit& unit_;
  std::uint16_t version_ = 0; // 0: there is no table
  std::uint8_t address_bytes_ = 8, offset_bytes_ = 4;
  std::uint8_t minimum_instruction_ = 1, line_range_ = 1, opcode_base_ = 1;
  std::int8_t line_base_ = 0;
  std::vector<std::uint8_t> operand_counts_; // of standard opcodes, from 1
  ByteSpan program_;
  std::vector<FileName> directories_, files_;
};

// Whether an address lies in one of the ranges, which are sorted and do not overlap.
bool is_inside(std::span<const AddressRange> ranges, std::uint64_t address);

} // namespace heaptape::dwarf
