#include "symbols/dwarf_lines.h"

#include <algorithm>

#include "symbols/dwarf_bytes.h"

namespace heaptape::dwarf {

bool is_inside(std::span<const AddressRange> ranges, std::uint64_t address) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), address,
                                      [](std::uint64_t wanted, const AddressRange& r) { return wanted < r.start; });
  return after != ranges.begin() && address < std::prev(after)->end;
}

LineTable::LineTable(const Unit& unit) : unit_(unit) {
  const ByteSpan section = unit.file().sections().line;
  const auto offset = unit.root().line_offset;
  if (!offset || *offset >= section.size()) return;
  ByteReader whole(section.subspan(static_cast<std::size_t>(*offset)));
  const UnitLength length = unit_length(whole);
  ByteReader reader(whole.bytes(length.bytes));
  offset_bytes_ = length.offset_bytes;
  const std::uint16_t version = reader.u16();
  if (version < 2 || version > 5) return;
  if (version >= 5) {
    address_bytes_ = reader.u8();
    (void)reader.u8(); // size of segment selectors
  } else {
    address_bytes_ = unit.header().address_bytes;
  }
  const std::uint64_t header_bytes = sized_number(reader, offset_bytes_);
  ByteReader header(reader.bytes(header_bytes));
  program_ = reader.rest();
  minimum_instruction_ = header.u8();
  if (version >= 4) (void)header.u8(); // operations per instruction: 1 on everything but VLIW
  (void)header.u8();                   // whether rows begin as statements
  line_base_ = static_cast<std::int8_t>(header.u8());
  line_range_ = header.u8();
  opcode_base_ = header.u8();
  for (int opcode = 1; opcode < opcode_base_; ++opcode) operand_counts_.push_back(header.u8());
  if (!header.ok() || !reader.ok() || line_range_ == 0 || opcode_base_ == 0) return;
  version_ = version;
  if (version_ < 5)
    read_older_names(header);
  else if (read_names(header, directories_))
    (void)read_names(header, files_);
}

void LineTable::read_older_names(ByteReader& reader) {
  // Numbers count from 1; 0 is the unit's own directory, and no file.
  directories_.push_back({});
  files_.push_back({});
  while (reader.ok()) {
    const std::string_view name = c_text(reader);
    if (name.empty()) break;
    directories_.push_back({name, 0});
  }
  while (reader.ok()) {
    const std::string_view name = c_text(reader);
    if (name.empty()) break;
    FileName file{name, reader.varint()};
    (void)reader.varint(); // time
    (void)reader.varint(); // size
    files_.push_back(file);
  }
}

bool LineTable::read_names(ByteReader& reader, std::vector<FileName>& names) {
  std::vector<AttributeSpec> formats(reader.u8());
  for (AttributeSpec& format : formats) {
    format.name = static_cast<std::uint16_t>(reader.varint());
    format.form = static_cast<std::uint16_t>(reader.varint());
    // A form without bytes would make a huge count cheap.
    if (format.form == kFormFlagPresent || format.form == kFormImplicitConst) return false;
  }
  std::uint64_t left = reader.varint();
  if (!reader.ok() || left > reader.remaining() || (left != 0 && formats.empty())) return false;
  for (; left != 0; --left) {
    FileName name;
    for (const AttributeSpec& format : formats) {
      const FormValue value = unit_.read(reader, format);
      if (format.name == kLnctPath) name.name = unit_.text(value);
      if (format.name == kLnctDirectoryIndex) name.directory = value.number;
    }
    if (!reader.ok()) return false;
    names.push_back(name);
  }
  return true;
}

std::string LineTable::path(std::uint64_t file) const {
  if (file >= files_.size() || files_[file].name.empty()) return {};
  std::string path(files_[file].name);
  const auto put_in_front = [&](std::string_view folder) {
    if (path.starts_with('/') || folder.empty()) return;
    path.insert(0, folder.ends_with('/') ? folder : std::string(folder) + '/');
  };
  if (files_[file].directory < directories_.size()) put_in_front(directories_[files_[file].directory].name);
  put_in_front(unit_.root().directory);
  return path;
}

namespace {

// The registers of the line number machine that matter here.
struct Machine {
  std::uint64_t address = 0;
  std::uint64_t file = 1;
  std::uint64_t line = 1;
  std::uint64_t column = 0;
};

// Takes rows in order and gives each wanted address the last row at or in front of it.
class RowMatcher {
public:
  RowMatcher(std::span<const std::uint64_t> wanted, std::span<const AddressRange> code)
      : wanted_(wanted), code_(code), rows_(wanted.size()) {}

  void row(const Machine& now, bool ends_sequence) {
    if (in_sequence_ && now.address > last_.address) give(last_, now.address);
    if (!in_sequence_) is_code_ = is_inside(code_, now.address);
    in_sequence_ = !ends_sequence;
    last_ = now;
  }

  std::vector<std::optional<LineRow>> take() { return std::move(rows_); }

private:
  void give(const Machine& row, std::uint64_t end) {
    if (!is_code_) return;
    // Rows mostly follow each other, and most of them hold nothing that is wanted.
    if (row.address != covered_to_)
      next_ = static_cast<std::size_t>(std::lower_bound(wanted_.begin(), wanted_.end(), row.address) - wanted_.begin());
    covered_to_ = end;
    for (; next_ < wanted_.size() && wanted_[next_] < end; ++next_) {
      if (rows_[next_]) continue;
      rows_[next_] = LineRow{static_cast<std::uint32_t>(row.file), static_cast<std::uint32_t>(row.line),
                             static_cast<std::uint32_t>(row.column)};
    }
  }

  std::span<const std::uint64_t> wanted_;
  std::span<const AddressRange> code_;
  std::vector<std::optional<LineRow>> rows_;
  Machine last_;
  bool in_sequence_ = false, is_code_ = false;
  std::uint64_t covered_to_ = ~std::uint64_t{0};
  std::size_t next_ = 0; // the first wanted address that is not in front of covered_to_
};

} // namespace

std::vector<std::optional<LineRow>> LineTable::find(std::span<const std::uint64_t> addresses,
                                                    std::span<const AddressRange> code) const {
  RowMatcher matcher(addresses, code);
  if (version_ == 0) return matcher.take();
  Machine machine;
  ByteReader reader(program_);
  const auto advance = [&](std::uint64_t operations) { machine.address += operations * minimum_instruction_; };
  while (reader.ok() && reader.remaining() != 0) {
    const std::uint8_t opcode = reader.u8();
    if (opcode >= opcode_base_) {
      const auto adjusted = static_cast<std::uint8_t>(opcode - opcode_base_);
      advance(adjusted / line_range_);
      machine.line += static_cast<std::uint64_t>(std::int64_t{line_base_} + adjusted % line_range_);
      matcher.row(machine, false);
      continue;
    }
    switch (opcode) {
    case kLnsExtended: {
      ByteReader operands(reader.bytes(reader.varint()));
      switch (operands.u8()) {
      case kLneEndSequence:
        matcher.row(machine, true);
        machine = {};
        break;
      case kLneSetAddress: machine.address = sized_number(operands, address_bytes_); break;
      default: break;
      }
      break;
    }
    case kLnsCopy: matcher.row(machine, false); break;
    case kLnsAdvancePc: advance(reader.varint()); break;
    case kLnsAdvanceLine: machine.line += static_cast<std::uint64_t>(signed_leb(reader)); break;
    case kLnsSetFile: machine.file = reader.varint(); break;
    case kLnsSetColumn: machine.column = reader.varint(); break;
    case kLnsConstAddPc: advance(static_cast<std::uint8_t>(255 - opcode_base_) / line_range_); break;
    case kLnsFixedAdvancePc: machine.address += reader.u16(); break;
    default:
      for (std::uint8_t operand = 0; operand < operand_counts_[opcode - 1u]; ++operand) (void)reader.varint();
    }
  }
  return matcher.take();
}

} // namespace heaptape::dwarf
