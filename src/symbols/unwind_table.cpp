#include "symbols/unwind_table.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "symbols/dwarf_bytes.h"

namespace heaptape {

namespace {

// Call-frame instructions (DWARF 5, 7.24). The three with a number in their low six bits are known by the high two.
enum Instruction : std::uint8_t {
  kNop = 0x00,
  kSetLoc = 0x01,
  kAdvanceLoc1 = 0x02,
  kAdvanceLoc2 = 0x03,
  kAdvanceLoc4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kRegister = 0x09,
  kRememberState = 0x0a,
  kRestoreState = 0x0b,
  kDefCfa = 0x0c,
  kDefCfaRegister = 0x0d,
  kDefCfaOffset = 0x0e,
  kDefCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetExtendedSf = 0x11,
  kDefCfaSf = 0x12,
  kDefCfaOffsetSf = 0x13,
  kValOffset = 0x14,
  kValOffsetSf = 0x15,
  kValExpression = 0x16,
  kGnuArgsSize = 0x2e,
};
enum HighBits : std::uint8_t { kAdvanceLoc = 1, kOffset = 2, kRestore = 3 };

enum PointerEncoding : std::uint8_t { kPcRelative = 0x10, kIndirect = 0x80, kOmitted = 0xff };

ByteSpan part(ByteSpan bytes, std::uint64_t begin, std::uint64_t end) {
  if (begin > end || end > bytes.size()) return {};
  return bytes.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

// A pointer; `here` is the address that its first byte has.
std::uint64_t encoded(ByteReader& reader, std::uint8_t encoding, std::uint64_t here) {
  std::uint64_t value = 0;
  switch (encoding & 0x0f) {
  case 0x00:
  case 0x04:
  case 0x0c: value = reader.u64(); break;
  case 0x01: value = reader.varint(); break;
  case 0x02: value = reader.u16(); break;
  case 0x03: value = reader.u32(); break;
  case 0x09: value = static_cast<std::uint64_t>(dwarf::signed_leb(reader)); break;
  case 0x0a: value = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int16_t>(reader.u16())}); break;
  case 0x0b: value = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(reader.u32())}); break;
  default: reader.fail();
  }
  if ((encoding & kIndirect) != 0) reader.fail();
  switch (encoding & 0x70) {
  case 0: return value;
  case kPcRelative: return value + here;
  default: reader.fail(); return 0;
  }
}

} // namespace

// What several entries share.
struct UnwindTable::Common {
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = -8;
  std::uint8_t pointer_encoding = 0;
  bool augmented = false, signal_frame = false;
  std::uint64_t instructions = 0, instructions_end = 0; // offsets in the section
};

// Runs call-frame instructions.
class UnwindTable::Program {
public:
  Program(const Section& section, const Common& common) : section_(section), common_(common) {}

  // Up to the row that holds `address`; false: they make no sense.
  bool run(std::uint64_t begin, std::uint64_t end, std::uint64_t location, std::uint64_t address, UnwindRow& row,
           const UnwindRow& initial) {
    constexpr std::size_t kMostRemembered = 64;
    std::vector<UnwindRow> remembered;
    ByteReader reader(part(section_.bytes, begin, end));
    while (reader.ok() && !reader.done()) {
      const std::uint8_t operation = reader.u8(), low = operation & 0x3f;
      std::uint64_t advance = 0;
      switch (operation >> 6) {
      case kAdvanceLoc: advance = low * common_.code_alignment; break;
      case kOffset: set(row, low, {RegisterFrom::Saved, scaled(reader.varint())}); break;
      case kRestore: set(row, low, low < kUnwindRegisters ? initial.registers[low] : RegisterRule()); break;
      default:
        switch (operation) {
        case kSetLoc: {
          const std::uint64_t here = section_.address + (end - reader.remaining());
          const std::uint64_t next = encoded(reader, common_.pointer_encoding, here);
          if (next < location) return false;
          advance = next - location;
          break;
        }
        case kAdvanceLoc1: advance = reader.u8() * common_.code_alignment; break;
        case kAdvanceLoc2: advance = reader.u16() * common_.code_alignment; break;
        case kAdvanceLoc4: advance = reader.u32() * common_.code_alignment; break;
        case kRememberState:
          if (remembered.size() == kMostRemembered) return false;
          remembered.push_back(row);
          break;
        case kRestoreState:
          if (remembered.empty()) return false;
          row = remembered.back();
          remembered.pop_back();
          break;
        default:
          if (!change(operation, reader, row, initial)) return false;
        }
      }
      if (!reader.ok()) return false;
      if (advance > address - location) return true; // the row covers the address
      location += advance;
    }
    return reader.ok();
  }

private:
  // May wrap around: the bytes can be anything.
  std::int64_t scaled(std::uint64_t factor) const {
    return static_cast<std::int64_t>(factor * static_cast<std::uint64_t>(common_.data_alignment));
  }
  std::int64_t scaled_signed(ByteReader& reader) const {
    return scaled(static_cast<std::uint64_t>(dwarf::signed_leb(reader)));
  }
  // Vector registers and others that no frame depends on are passed over.
  static void set(UnwindRow& row, std::uint64_t which, const RegisterRule& rule) {
    if (which < kUnwindRegisters) row.registers[which] = rule;
  }
  static ByteSpan expression(ByteReader& reader) { return reader.bytes(reader.varint()); }

  static void set_cfa(UnwindRow& row, std::uint64_t which, std::int64_t offset) {
    row.cfa_register = which;
    row.cfa_offset = offset;
    row.cfa_expression = {};
  }

  // The instructions that change the row.
  bool change(std::uint8_t operation, ByteReader& reader, UnwindRow& row, const UnwindRow& initial) const {
    const auto number = [&] { return reader.varint(); };
    switch (operation) {
    case kNop: return true;
    case kGnuArgsSize: (void)number(); return true;
    case kDefCfa: {
      const std::uint64_t which = number();
      set_cfa(row, which, static_cast<std::int64_t>(number()));
      return true;
    }
    case kDefCfaSf: {
      const std::uint64_t which = number();
      set_cfa(row, which, scaled_signed(reader));
      return true;
    }
    case kDefCfaRegister: set_cfa(row, number(), row.cfa_offset); return true;
    case kDefCfaOffset: row.cfa_offset = static_cast<std::int64_t>(number()); return true;
    case kDefCfaOffsetSf: row.cfa_offset = scaled_signed(reader); return true;
    case kDefCfaExpression: row.cfa_expression = expression(reader); return true;
    default: break;
    }
    const std::uint64_t which = number();
    switch (operation) {
    case kOffsetExtended: set(row, which, {RegisterFrom::Saved, scaled(number())}); return true;
    case kOffsetExtendedSf: set(row, which, {RegisterFrom::Saved, scaled_signed(reader)}); return true;
    case kRestoreExtended:
      set(row, which, which < kUnwindRegisters ? initial.registers[which] : RegisterRule());
      return true;
    case kUndefined: set(row, which, {RegisterFrom::Nowhere}); return true;
    case kSameValue: set(row, which, {RegisterFrom::Same}); return true;
    case kRegister: set(row, which, {RegisterFrom::OtherRegister, static_cast<std::int64_t>(number())}); return true;
    case kExpression: set(row, which, {RegisterFrom::SavedAt, 0, expression(reader)}); return true;
    case kValExpression: set(row, which, {RegisterFrom::Computed, 0, expression(reader)}); return true;
    case kValOffset: set(row, which, {RegisterFrom::Value, scaled(number())}); return true;
    case kValOffsetSf: set(row, which, {RegisterFrom::Value, scaled_signed(reader)}); return true;
    default: return false;
    }
  }

  const Section& section_;
  const Common& common_;
};

std::optional<UnwindTable::Common> UnwindTable::read_common(const Section& section, std::uint64_t offset) {
  if (offset >= section.bytes.size()) return std::nullopt;
  ByteReader reader(section.bytes.subspan(static_cast<std::size_t>(offset)));
  const dwarf::UnitLength length = dwarf::unit_length(reader);
  if (!reader.ok() || length.bytes > reader.remaining()) return std::nullopt;
  const std::uint64_t end = section.bytes.size() - reader.remaining() + length.bytes;
  ByteReader body(reader.bytes(length.bytes));
  const std::uint64_t mark = section.kind == Kind::EhFrame ? 0
                             : length.offset_bytes == 4    ? 0xffff'ffff
                                                           : ~std::uint64_t{};
  const std::uint8_t mark_bytes = section.kind == Kind::EhFrame ? 4 : length.offset_bytes;
  if (dwarf::sized_number(body, mark_bytes) != mark) return std::nullopt;
  const std::uint8_t version = body.u8();
  const std::string_view augmentation = dwarf::c_text(body);
  if (version == 4) {
    const std::uint8_t address_bytes = body.u8(), segment_bytes = body.u8();
    if (address_bytes != 8 || segment_bytes != 0) return std::nullopt;
  }
  Common common;
  common.code_alignment = body.varint();
  common.data_alignment = dwarf::signed_leb(body);
  const std::uint64_t return_register = version == 1 ? body.u8() : body.varint();
  if (return_register != kUnwindReturn) return std::nullopt;
  if (augmentation.starts_with('z')) {
    common.augmented = true;
    const std::uint64_t size = body.varint();
    ByteReader data(body.bytes(size));
    for (const char letter : augmentation.substr(1)) {
      if (letter == 'R') {
        common.pointer_encoding = data.u8();
      } else if (letter == 'P') {
        (void)encoded(data, data.u8() & 0x0f, 0);
      } else if (letter == 'L') {
        (void)data.u8();
      } else if (letter == 'S') {
        common.signal_frame = true;
      } else if (letter != 'B') {
        break;
      }
    }
    if (!data.ok()) return std::nullopt;
  } else if (!augmentation.empty()) {
    return std::nullopt; // an old form that is not known
  }
  if (!body.ok()) return std::nullopt;
  common.instructions = end - body.remaining();
  common.instructions_end = end;
  return common;
}

void UnwindTable::add(Kind kind, ByteSpan bytes, std::uint64_t address) {
  const Section section{kind, bytes, address};
  const auto number = static_cast<std::uint32_t>(sections_.size());
  std::unordered_map<std::uint64_t, std::optional<Common>> commons;
  const std::size_t before = entries_.size();
  ByteReader reader(bytes);
  while (reader.ok() && reader.remaining() > 0) {
    const std::uint64_t start = bytes.size() - reader.remaining();
    const dwarf::UnitLength length = dwarf::unit_length(reader);
    if (!reader.ok() || length.bytes > reader.remaining()) break;
    if (length.bytes == 0) { // where a linker put several together, more may follow
      if (start + 4 >= bytes.size() || kind == Kind::EhFrame) break;
      continue;
    }
    const std::uint64_t body_at = bytes.size() - reader.remaining(), end = body_at + length.bytes;
    ByteReader body(reader.bytes(length.bytes));
    const std::uint8_t pointer_bytes = kind == Kind::EhFrame ? 4 : length.offset_bytes;
    const std::uint64_t to_common = dwarf::sized_number(body, pointer_bytes);
    std::uint64_t common_at = to_common;
    if (kind == Kind::EhFrame) {
      if (to_common == 0 || to_common > body_at) continue; // a common part, or nonsense
      common_at = body_at - to_common;
    } else if (to_common == (pointer_bytes == 4 ? 0xffff'ffff : ~std::uint64_t{})) {
      continue;
    }
    const auto [common, is_new] = commons.try_emplace(common_at);
    if (is_new) common->second = read_common(section, common_at);
    if (!common->second) continue;
    const std::uint64_t here = address + (end - body.remaining());
    const std::uint64_t begin = encoded(body, common->second->pointer_encoding, here);
    const std::uint64_t size = encoded(body, common->second->pointer_encoding & 0x0f, 0);
    if (common->second->augmented) (void)body.bytes(body.varint());
    if (!body.ok() || size == 0 || begin > ~std::uint64_t{} - size) continue;
    // What the linker threw away lies at 0.
    if (begin == 0 && kind == Kind::DebugFrame) continue;
    entries_.push_back({begin, begin + size, common_at, end - body.remaining(), end, number});
  }
  if (entries_.size() == before) return;
  sections_.push_back(section);
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
}

std::optional<UnwindRow> UnwindTable::find(std::uint64_t address) const {
  auto after = std::ranges::upper_bound(entries_, address, {}, &Entry::begin);
  // Entries of several sections may lie inside each other, but seldom many.
  for (int tries = 0; after != entries_.begin() && tries < 8; ++tries) {
    const Entry& entry = *--after;
    if (address >= entry.end) continue;
    const Section& section = sections_[entry.section];
    const std::optional<Common> common = read_common(section, entry.common);
    if (!common) continue;
    Program program(section, *common);
    UnwindRow row;
    if (!program.run(common->instructions, common->instructions_end, 0, ~std::uint64_t{}, row, {})) continue;
    const UnwindRow initial = row;
    if (!program.run(entry.instructions, entry.instructions_end, entry.begin, address, row, initial)) continue;
    row.signal_frame = common->signal_frame;
    return row;
  }
  return std::nullopt;
}

} // namespace heaptape
