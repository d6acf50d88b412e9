#include "symbols/dwarf_unit.h"

#include <algorithm>

#include "symbols/dwarf_bytes.h"

namespace heaptape::dwarf {

namespace {

// The header at the reader's place; nullopt when no version that we know wrote it. `end` is the one of the section.
std::optional<UnitHeader> read_header(ByteReader& reader, std::uint64_t offset, std::uint64_t end) {
  UnitHeader unit;
  unit.offset = offset;
  const std::uint64_t before = reader.remaining();
  const UnitLength length = unit_length(reader);
  unit.offset_bytes = length.offset_bytes;
  unit.end = offset + (before - reader.remaining()) + length.bytes;
  if (!reader.ok() || length.bytes > reader.remaining() || unit.end > end) return std::nullopt;
  unit.version = reader.u16();
  if (unit.version >= 5) {
    unit.type = reader.u8();
    unit.address_bytes = reader.u8();
    unit.abbrev_offset = sized_number(reader, unit.offset_bytes);
    if (unit.type == kUnitSkeleton || unit.type == kUnitSplitCompile) unit.dwo_id = reader.u64();
    if (unit.type == kUnitType || unit.type == kUnitSplitType) {
      (void)reader.u64();
      (void)sized_number(reader, unit.offset_bytes);
    }
  } else {
    unit.type = kUnitCompile;
    unit.abbrev_offset = sized_number(reader, unit.offset_bytes);
    unit.address_bytes = reader.u8();
  }
  unit.root = offset + (before - reader.remaining());
  return unit;
}

bool is_known(const UnitHeader& unit) {
  return unit.version >= 2 && unit.version <= 5 && unit.root < unit.end &&
         (unit.address_bytes == 8 || unit.address_bytes == 4);
}

} // namespace

DebugFile::DebugFile(const Sections& sections, DebugFile* alt) : sections_(sections), alt_(alt) {
  for (std::uint64_t offset = 0; offset < sections_.info.size();) {
    ByteReader reader(sections_.info.subspan(static_cast<std::size_t>(offset)));
    const auto unit = read_header(reader, offset, sections_.info.size());
    if (!unit || unit->end <= offset) break;
    if (reader.ok() && is_known(*unit)) units_.push_back(*unit);
    offset = unit->end;
  }
}

const UnitHeader* DebugFile::unit_with(std::uint64_t entry_offset) const {
  const auto after =
      std::upper_bound(units_.begin(), units_.end(), entry_offset,
                       [](std::uint64_t offset, const UnitHeader& unit) { return offset < unit.offset; });
  if (after == units_.begin()) return nullptr;
  const UnitHeader& unit = *std::prev(after);
  return entry_offset >= unit.root && entry_offset < unit.end ? &unit : nullptr;
}

const AbbreviationTable& DebugFile::abbreviations(const UnitHeader& unit) {
  const auto [place, added] = tables_.try_emplace({unit.abbrev_offset, unit.offset_bytes});
  if (added) place->second = AbbreviationTable::parse(sections_.abbrev, unit.abbrev_offset, unit.offset_bytes);
  return place->second;
}

Unit::Unit(DebugFile& file, const UnitHeader& header, const Unit* skeleton)
    : file_(file), header_(header), skeleton_(skeleton), abbreviations_(file.abbreviations(header)) {
  read_root();
}

ByteReader Unit::entries_from(std::uint64_t offset) const {
  if (offset < header_.root || offset >= header_.end) return ByteReader({});
  return ByteReader(
      file_.sections().info.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(header_.end - offset)));
}

void Unit::read_root() {
  // A split unit names no bases: its parts start right after the headers of these sections.
  if (header_.version >= 5) {
    const std::uint64_t length_bytes = header_.offset_bytes == 8 ? 12 : 4;
    root_.str_offsets_base = length_bytes + 4;
    root_.rnglists_base = length_bytes + 8;
  }
  ByteReader reader = entries_from(header_.root);
  const Abbreviation* entry = abbreviations_.find(reader.varint());
  if (!reader.ok() || entry == nullptr) return;
  FormValue directory, dwo_name, low_pc;
  for (const AttributeSpec* spec = abbreviations_.begin(*entry); spec != abbreviations_.end(*entry); ++spec) {
    const FormValue value = read(reader, *spec);
    if (!reader.ok()) return;
    switch (spec->name) {
    case kAtCompDir: directory = value; break;
    case kAtDwoName:
    case kAtGnuDwoName: dwo_name = value; break;
    case kAtGnuDwoId: root_.dwo_id = value.number; break;
    case kAtLanguage: root_.language = value.number; break;
    case kAtStmtList: root_.line_offset = value.number; break;
    case kAtLowPc: low_pc = value; break;
    case kAtHighPc: root_.high_pc = value; break;
    case kAtRanges: root_.ranges = value; break;
    case kAtStrOffsetsBase: root_.str_offsets_base = value.number; break;
    case kAtAddrBase:
    case kAtGnuAddrBase: root_.addr_base = value.number; break;
    case kAtRnglistsBase: root_.rnglists_base = value.number; break;
    case kAtGnuRangesBase: root_.gnu_ranges_base = value.number; break;
    default: break;
    }
  }
  root_.tag = entry->tag;
  if (header_.dwo_id != 0) root_.dwo_id = header_.dwo_id;
  // Only now: what they mean may depend on a base that came behind them.
  root_.directory = text(directory);
  root_.dwo_name = text(dwo_name);
  root_.low_pc = address(low_pc).value_or(0);
  root_.says_where = root_.ranges || (low_pc && root_.high_pc);
}

FormValue Unit::read(ByteReader& reader, const AttributeSpec& spec) const {
  FormValue value{.form = spec.form};
  // An indirect form may name another one, but not a chain of them.
  if (value.form == kFormIndirect) {
    value.form = static_cast<std::uint16_t>(reader.varint());
    if (value.form == kFormIndirect || value.form == kFormImplicitConst) reader.fail();
  }
  switch (value.form) {
  case kFormAddr: value.number = sized_number(reader, header_.address_bytes); break;
  case kFormFlagPresent: value.number = 1; break;
  case kFormImplicitConst: value.number = static_cast<std::uint64_t>(spec.implicit_value); break;
  case kFormData1:
  case kFormFlag:
  case kFormRef1:
  case kFormStrx1:
  case kFormAddrx1: value.number = reader.u8(); break;
  case kFormData2:
  case kFormRef2:
  case kFormStrx2:
  case kFormAddrx2: value.number = reader.u16(); break;
  case kFormStrx3:
  case kFormAddrx3: value.number = sized_number(reader, 3); break;
  case kFormData4:
  case kFormRef4:
  case kFormRefSup4:
  case kFormStrx4:
  case kFormAddrx4: value.number = reader.u32(); break;
  case kFormData8:
  case kFormRef8:
  case kFormRefSup8:
  case kFormRefSig8: value.number = reader.u64(); break;
  case kFormData16: (void)reader.bytes(16); break;
  case kFormSdata: value.number = static_cast<std::uint64_t>(signed_leb(reader)); break;
  case kFormUdata:
  case kFormRefUdata:
  case kFormStrx:
  case kFormAddrx:
  case kFormLoclistx:
  case kFormRnglistx:
  case kFormGnuAddrIndex:
  case kFormGnuStrIndex: value.number = reader.varint(); break;
  case kFormRefAddr:
    value.number = sized_number(reader, header_.version <= 2 ? header_.address_bytes : header_.offset_bytes);
    break;
  case kFormStrp:
  case kFormLineStrp:
  case kFormStrpSup:
  case kFormSecOffset:
  case kFormGnuRefAlt:
  case kFormGnuStrpAlt: value.number = sized_number(reader, header_.offset_bytes); break;
  case kFormString: value.text = c_text(reader); break;
  case kFormBlock1: (void)reader.bytes(reader.u8()); break;
  case kFormBlock2: (void)reader.bytes(reader.u16()); break;
  case kFormBlock4: (void)reader.bytes(reader.u32()); break;
  case kFormBlock:
  case kFormExprloc: (void)reader.bytes(reader.varint()); break;
  default: reader.fail();
  }
  return value;
}

void Unit::skip(ByteReader& reader, const Abbreviation& entry) const {
  if (entry.fixed_bytes != Abbreviation::kVariable) {
    (void)reader.bytes(entry.fixed_bytes);
    return;
  }
  for (const AttributeSpec* spec = abbreviations_.begin(entry); spec != abbreviations_.end(entry) && reader.ok();
       ++spec)
    (void)read(reader, *spec);
}

std::optional<std::uint64_t> Unit::indexed_address(std::uint64_t index) const {
  const Unit& holder = skeleton_ != nullptr ? *skeleton_ : *this;
  if (index > holder.file_.sections().addr.size()) return std::nullopt;
  bool ok = true;
  const std::uint64_t address = number_at(
      holder.file_.sections().addr, holder.root_.addr_base + index * header_.address_bytes, header_.address_bytes, ok);
  if (!ok) return std::nullopt;
  return address;
}

std::optional<std::uint64_t> Unit::address(const FormValue& value) const {
  switch (value.form) {
  case kFormAddr: return value.number;
  case kFormAddrx:
  case kFormAddrx1:
  case kFormAddrx2:
  case kFormAddrx3:
  case kFormAddrx4:
  case kFormGnuAddrIndex: return indexed_address(value.number);
  default: return std::nullopt;
  }
}

std::string_view Unit::text(const FormValue& value) const {
  const Sections& sections = file_.sections();
  switch (value.form) {
  case kFormString: return value.text;
  case kFormStrp: return text_at(sections.str, value.number);
  case kFormLineStrp: return text_at(sections.line_str, value.number);
  case kFormStrpSup:
  case kFormGnuStrpAlt:
    return file_.alt() != nullptr ? text_at(file_.alt()->sections().str, value.number) : std::string_view{};
  case kFormStrx:
  case kFormStrx1:
  case kFormStrx2:
  case kFormStrx3:
  case kFormStrx4:
  case kFormGnuStrIndex: {
    if (value.number > sections.str_offsets.size()) return {};
    bool ok = true;
    const std::uint64_t offset = number_at(
        sections.str_offsets, root_.str_offsets_base + value.number * header_.offset_bytes, header_.offset_bytes, ok);
    return ok ? text_at(sections.str, offset) : std::string_view{};
  }
  default: return {};
  }
}

std::optional<EntryRef> Unit::reference(const FormValue& value) const {
  switch (value.form) {
  case kFormRef1:
  case kFormRef2:
  case kFormRef4:
  case kFormRef8:
  case kFormRefUdata:
    if (value.number >= header_.end - header_.offset) return std::nullopt;
    return EntryRef{&file_, header_.offset + value.number};
  case kFormRefAddr: return EntryRef{&file_, value.number};
  case kFormRefSup4:
  case kFormRefSup8:
  case kFormGnuRefAlt:
    if (file_.alt() == nullptr) return std::nullopt;
    return EntryRef{file_.alt(), value.number};
  default: return std::nullopt;
  }
}

void Unit::add_range(std::uint64_t low, const FormValue& high, std::vector<AddressRange>& out) const {
  if (!high) return;
  const auto end = address(high);
  const std::uint64_t high_pc = end ? *end : low + high.number;
  if (high_pc > low) out.push_back({low, high_pc});
}

void Unit::add_own_ranges(std::vector<AddressRange>& out) const {
  if (root_.ranges)
    add_ranges(root_.ranges, out);
  else
    add_range(root_.low_pc, root_.high_pc, out);
}

void Unit::add_ranges(const FormValue& ranges, std::vector<AddressRange>& out) const {
  if (header_.version < 5) {
    // Of a split unit they are in the skeleton's file.
    const std::uint64_t base = skeleton_ != nullptr ? skeleton_->root_.gnu_ranges_base : 0;
    add_older_range_list(base + ranges.number, out);
  } else if (ranges.form == kFormRnglistx) {
    if (ranges.number > file_.sections().rnglists.size()) return;
    bool ok = true;
    const std::uint64_t offset =
        number_at(file_.sections().rnglists, root_.rnglists_base + ranges.number * header_.offset_bytes,
                  header_.offset_bytes, ok);
    if (ok) add_range_list(root_.rnglists_base + offset, out);
  } else {
    add_range_list(ranges.number, out);
  }
}

void Unit::add_older_range_list(std::uint64_t offset, std::vector<AddressRange>& out) const {
  const ByteSpan section = (skeleton_ != nullptr ? skeleton_->file_ : file_).sections().ranges;
  if (offset > section.size()) return;
  ByteReader reader(section.subspan(static_cast<std::size_t>(offset)));
  const std::uint64_t largest = header_.address_bytes == 8 ? ~std::uint64_t{0} : 0xffff'ffffu;
  std::uint64_t base = base_address();
  for (;;) {
    const std::uint64_t low = sized_number(reader, header_.address_bytes);
    const std::uint64_t high = sized_number(reader, header_.address_bytes);
    if (!reader.ok() || (low == 0 && high == 0)) return;
    if (low == largest)
      base = high;
    else if (high > low)
      out.push_back({base + low, base + high});
  }
}

void Unit::add_range_list(std::uint64_t offset, std::vector<AddressRange>& out) const {
  const ByteSpan section = file_.sections().rnglists;
  if (offset > section.size()) return;
  ByteReader reader(section.subspan(static_cast<std::size_t>(offset)));
  std::uint64_t base = base_address();
  const auto indexed = [&] {
    const auto found = indexed_address(reader.varint());
    if (!found) reader.fail();
    return found.value_or(0);
  };
  while (reader.ok()) {
    AddressRange range;
    switch (reader.u8()) {
    case kRleBaseAddressx: base = indexed(); continue;
    case kRleBaseAddress: base = sized_number(reader, header_.address_bytes); continue;
    case kRleStartxEndx:
      range.start = indexed();
      range.end = indexed();
      break;
    case kRleStartxLength:
      range.start = indexed();
      range.end = range.start + reader.varint();
      break;
    case kRleOffsetPair:
      range.start = base + reader.varint();
      range.end = base + reader.varint();
      break;
    case kRleStartEnd:
      range.start = sized_number(reader, header_.address_bytes);
      range.end = sized_number(reader, header_.address_bytes);
      break;
    case kRleStartLength:
      range.start = sized_number(reader, header_.address_bytes);
      range.end = range.start + reader.varint();
      break;
    default: return; // the end, or nothing we know
    }
    if (reader.ok() && range.end > range.start) out.push_back(range);
  }
}

} // namespace heaptape::dwarf
