#include "symbols/dwarf_abbreviations.h"

#include <algorithm>

#include "symbols/dwarf_bytes.h"
#include "symbols/dwarf_constants.h"

namespace heaptape::dwarf {

namespace {

// Size of a form that is the same everywhere; kVariable of others. Addresses are left to the reader, which knows their
// size.
std::uint32_t fixed_size(std::uint16_t form, std::uint8_t offset_bytes) {
  switch (form) {
  case kFormFlagPresent:
  case kFormImplicitConst: return 0;
  case kFormData1:
  case kFormFlag:
  case kFormRef1:
  case kFormStrx1:
  case kFormAddrx1: return 1;
  case kFormData2:
  case kFormRef2:
  case kFormStrx2:
  case kFormAddrx2: return 2;
  case kFormStrx3:
  case kFormAddrx3: return 3;
  case kFormData4:
  case kFormRef4:
  case kFormRefSup4:
  case kFormStrx4:
  case kFormAddrx4: return 4;
  case kFormData8:
  case kFormRef8:
  case kFormRefSup8:
  case kFormRefSig8: return 8;
  case kFormData16: return 16;
  case kFormStrp:
  case kFormLineStrp:
  case kFormSecOffset:
  case kFormStrpSup:
  case kFormGnuRefAlt:
  case kFormGnuStrpAlt: return offset_bytes;
  default: return Abbreviation::kVariable;
  }
}

} // namespace

AbbreviationTable AbbreviationTable::parse(ByteSpan section, std::uint64_t offset, std::uint8_t offset_bytes) {
  AbbreviationTable table;
  if (offset >= section.size()) return table;
  ByteReader reader(section.subspan(static_cast<std::size_t>(offset)));
  while (const std::uint64_t code = reader.varint()) {
    Abbreviation entry;
    entry.code = code;
    entry.tag = static_cast<std::uint16_t>(reader.varint());
    entry.has_children = reader.u8() != 0;
    entry.first = static_cast<std::uint32_t>(table.specs_.size());
    std::uint64_t bytes = 0;
    for (;;) {
      const std::uint64_t name = reader.varint(), form = reader.varint();
      if (name == 0 && form == 0) break;
      if (name > 0xffff || form > 0xffff) {
        reader.fail();
        break;
      }
      AttributeSpec spec{static_cast<std::uint16_t>(name), static_cast<std::uint16_t>(form), 0};
      if (form == kFormImplicitConst) spec.implicit_value = signed_leb(reader);
      entry.has_code |= name == kAtLowPc || name == kAtRanges;
      const std::uint32_t size = fixed_size(spec.form, offset_bytes);
      bytes =
          size == Abbreviation::kVariable || bytes == Abbreviation::kVariable ? Abbreviation::kVariable : bytes + size;
      table.specs_.push_back(spec);
    }
    if (!reader.ok()) break;
    entry.count = static_cast<std::uint32_t>(table.specs_.size()) - entry.first;
    entry.fixed_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, Abbreviation::kVariable));
    table.entries_.push_back(entry);
  }
  return table;
}

const Abbreviation* AbbreviationTable::find_slowly(std::uint64_t code) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.code == code; });
  return found != entries_.end() ? &*found : nullptr;
}

} // namespace heaptape::dwarf
