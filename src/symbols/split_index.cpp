#include "symbols/split_index.h"

#include <vector>

namespace heaptape::dwarf {

SplitIndex::SplitIndex(ByteSpan section) {
  ByteReader reader(section);
  version_ = reader.u32() & 0xffff; // in version 5 half as wide, and padded with 0
  const std::uint64_t columns = reader.u32(), units = reader.u32(), slots = reader.u32();
  if (!reader.ok() || (version_ != 2 && version_ != 5)) return;
  if (slots > reader.remaining() / 12 || units > slots || columns > 16) return;
  if (slots * 12 + columns * 4 + units * columns * 8 > reader.remaining()) return;
  ByteReader ids(reader.bytes(slots * 8));
  ByteReader rows(reader.bytes(slots * 4));
  std::vector<std::uint64_t> id_of_row(units);
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    const std::uint64_t id = ids.u64();
    const std::uint32_t row = rows.u32();
    if (row != 0 && row <= units) id_of_row[row - 1] = id;
  }
  std::vector<std::uint32_t> names(columns);
  for (std::uint32_t& name : names) name = reader.u32();
  for (std::uint32_t Part::*field : {&Part::offset, &Part::size}) {
    for (const std::uint64_t id : id_of_row)
      for (const std::uint32_t name : names) units_[id][name].*field = reader.u32();
  }
}

std::optional<Sections> SplitIndex::sections_of(std::uint64_t dwo_id, const Sections& package) const {
  const auto unit = units_.find(dwo_id);
  if (unit == units_.end()) return std::nullopt;
  const auto cut = [&](std::uint32_t column, ByteSpan section) -> ByteSpan {
    const auto part = unit->second.find(column);
    if (part == unit->second.end()) return {};
    const auto [offset, size] = part->second;
    if (offset > section.size() || size > section.size() - offset) return {};
    return section.subspan(offset, size);
  };
  Sections sections = package;
  sections.info = cut(kSplitInfo, package.info);
  sections.abbrev = cut(kSplitAbbrev, package.abbrev);
  sections.line = cut(kSplitLine, package.line);
  sections.str_offsets = cut(kSplitStrOffsets, package.str_offsets);
  if (version_ == 5) sections.rnglists = cut(kSplitRnglists, package.rnglists);
  return sections;
}

} // namespace heaptape::dwarf
