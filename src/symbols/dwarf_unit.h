// Units of .debug_info and the values of their entries' attributes. Works on bytes that may be hostile: what makes no
// sense reads as absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_cursor.h"
#include "symbols/dwarf_abbreviations.h"
#include "symbols/dwarf_constants.h"
#include "symbols/elf_image.h"

namespace heaptape::dwarf {

// Of one file. In .dwo files these are the sections whose names end in ".dwo".
struct Sections {
  ByteSpan info{}, abbrev{}, line{}, line_str{}, str{}, str_offsets{}, addr{}, ranges{}, rnglists{};
};

struct UnitHeader {
  std::uint64_t offset = 0; // of the unit in .debug_info
  std::uint64_t end = 0;
  std::uint64_t root = 0; // offset of its first entry
  std::uint64_t abbrev_offset = 0;
  std::uint64_t dwo_id = 0; // 0: it does not say
  std::uint16_t version = 0;
  std::uint8_t type = 0; // a UnitType
  std::uint8_t address_bytes = 0;
  std::uint8_t offset_bytes = 4;
};

// The debug information of one file. Looks into bytes that must outlive it. One thread at a time.
class DebugFile {
public:
  // `alt` is the file that dwz moved common parts to, or null; it must outlive this one.
  explicit DebugFile(const Sections& sections, DebugFile* alt = nullptr);

  const Sections& sections() const { return sections_; }
  DebugFile* alt() const { return alt_; }
  const std::vector<UnitHeader>& units() const { return units_; } // by offset
  const UnitHeader* unit_with(std::uint64_t entry_offset) const;  // null: no unit has an entry there
  const AbbreviationTable& abbreviations(const UnitHeader& unit); // valid as long as the file

private:
  Sections sections_;
  DebugFile* alt_;
  std::vector<UnitHeader> units_;
  std::map<std::pair<std::uint64_t, std::uint8_t>, AbbreviationTable> tables_; // by offset and offset_bytes
};

// The value of one attribute as stored. What it means may need the unit.
struct FormValue {
  std::uint16_t form = 0; // 0: the attribute is not there
  std::uint64_t number = 0;
  std::string_view text{}; // of DW_FORM_string
  explicit operator bool() const { return form != 0; }
};

// An entry, in this file or the one that dwz made.
struct EntryRef {
  DebugFile* file = nullptr;
  std::uint64_t offset = 0;
  friend auto operator<=>(const EntryRef&, const EntryRef&) = default;
};

// What the first entry of a unit says.
struct UnitRoot {
  std::uint16_t tag = 0; // 0: the unit makes no sense
  std::string_view directory;
  std::string_view dwo_name; // not empty: the unit is the skeleton of one in a .dwo file
  std::uint64_t dwo_id = 0;
  std::uint64_t language = 0;
  std::optional<std::uint64_t> line_offset; // of its line table
  std::uint64_t low_pc = 0;
  bool says_where = false; // low_pc and high_pc, or ranges, are there
  FormValue high_pc, ranges;
  // Where the unit's parts of .debug_str_offsets, .debug_addr, .debug_rnglists and (GNU) .debug_ranges begin.
  std::uint64_t str_offsets_base = 0, addr_base = 0, rnglists_base = 0, gnu_ranges_base = 0;
};

// One unit, its header and root read. The file, and the skeleton of a split unit, must outlive it.
class Unit {
public:
  Unit(DebugFile& file, const UnitHeader& header, const Unit* skeleton = nullptr);

  DebugFile& file() const { return file_; }
  const UnitHeader& header() const { return header_; }
  const UnitRoot& root() const { return root_; }
  const AbbreviationTable& abbreviations() const { return abbreviations_; }

  // Reads from an entry, which the offset is of; up to the end of the unit.
  ByteReader entries_from(std::uint64_t offset) const;
  // The value of an attribute at the reader's place; moves behind it. Fails the reader on a form that is not known.
  FormValue read(ByteReader& reader, const AttributeSpec& spec) const;
  // Moves behind all attributes of an entry.
  void skip(ByteReader& reader, const Abbreviation& entry) const;

  std::optional<std::uint64_t> address(const FormValue& value) const;
  std::string_view text(const FormValue& value) const; // empty when there is none
  std::optional<EntryRef> reference(const FormValue& value) const;
  // Adds the ranges of a DW_AT_ranges, or of low_pc and high_pc.
  void add_ranges(const FormValue& ranges, std::vector<AddressRange>& out) const;
  void add_range(std::uint64_t low, const FormValue& high, std::vector<AddressRange>& out) const;
  // The unit's own code.
  void add_own_ranges(std::vector<AddressRange>& out) const;

private:
  void read_root();
  std::optional<std::uint64_t> indexed_address(std::uint64_t index) const;
  void add_range_list(std::uint64_t offset, std::vector<AddressRange>& out) const;
  void add_older_range_list(std::uint64_t offset, std::vector<AddressRange>& out) const;
  std::uint64_t base_address() const { return skeleton_ != nullptr ? skeleton_->root_.low_pc : root_.low_pc; }

  DebugFile& file_;
  const UnitHeader& header_;
  const Unit* skeleton_;
  const AbbreviationTable& abbreviations_;
  UnitRoot root_;
};

} // namespace heaptape::dwarf
