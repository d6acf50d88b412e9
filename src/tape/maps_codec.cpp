#include "tape/maps_codec.h"

#include <unordered_map>
#include <utility>

#include "base/byte_cursor.h"

namespace heaptape {

namespace {

// Beyond it addresses make no sense, and sums below cannot overflow.
constexpr std::uint64_t kMostUnits = std::uint64_t{1} << 52;

void put_change(const MapsChange& change, const std::unordered_map<std::uint32_t, std::uint32_t>& numbers,
                std::vector<std::byte>& out) {
  ByteWriter entry(out);
  entry.varint(change.time_us);
  entry.varint(change.whole ? 1 : 0);
  entry.varint(change.removed.size());
  std::uint64_t last = 0;
  for (const std::uint64_t begin : change.removed) {
    entry.varint(begin / kMapUnit - last);
    last = begin / kMapUnit;
  }
  entry.varint(change.added.size());
  last = 0;
  for (const MappedRange& range : change.added) {
    entry.varint(range.begin / kMapUnit - last);
    entry.varint((range.end - range.begin) / kMapUnit);
    entry.varint(range.permissions);
    entry.varint(range.name == 0 ? 0 : numbers.at(range.name));
    entry.varint(range.offset / kMapUnit);
    last = range.end / kMapUnit;
  }
}

bool parse_change(ByteReader& entry, const std::vector<std::uint32_t>& names, MapsChange& change) {
  change.time_us = entry.varint();
  change.whole = entry.varint() != 0;
  std::uint64_t at = 0;
  for (std::uint64_t left = entry.varint(); left != 0 && entry.ok(); --left) {
    at += entry.varint();
    if (at >= kMostUnits) return false;
    if (entry.ok()) change.removed.push_back(at * kMapUnit);
  }
  at = 0;
  for (std::uint64_t left = entry.varint(); left != 0 && entry.ok(); --left) {
    const std::uint64_t gap = entry.varint(), length = entry.varint();
    const std::uint64_t permissions = entry.varint(), name = entry.varint(), offset = entry.varint();
    if (gap >= kMostUnits || length == 0 || length >= kMostUnits || at + gap + length >= kMostUnits ||
        permissions > 0xff || name >= names.size() || offset >= kMostUnits)
      return false;
    MappedRange range;
    range.begin = (at + gap) * kMapUnit;
    at += gap + length;
    range.end = at * kMapUnit;
    range.offset = offset * kMapUnit;
    range.name = names[name];
    range.permissions = static_cast<std::uint8_t>(permissions);
    if (entry.ok()) change.added.push_back(range);
  }
  return entry.ok();
}

} // namespace

void put_maps(std::uint64_t first, std::span<const MapsChange> changes, const MapNames& names,
              std::vector<std::byte>& out) {
  std::unordered_map<std::uint32_t, std::uint32_t> numbers; // of `names` to those of this payload
  std::vector<std::uint32_t> used;
  for (const MapsChange& change : changes) {
    for (const MappedRange& range : change.added) {
      if (range.name != 0 && numbers.try_emplace(range.name, static_cast<std::uint32_t>(used.size() + 1)).second)
        used.push_back(range.name);
    }
  }
  ByteWriter writer(out);
  writer.varint(used.size());
  for (const std::uint32_t name : used) writer.text(names[name]);
  writer.varint(first);
  writer.varint(changes.size());
  std::vector<std::byte> entry;
  for (const MapsChange& change : changes) {
    entry.clear();
    put_change(change, numbers, entry);
    writer.varint(entry.size());
    writer.bytes(entry);
  }
}

bool parse_maps(std::span<const std::byte> payload, Maps& maps) {
  ByteReader reader(payload);
  std::vector<std::uint32_t> names{0};
  for (std::uint64_t left = reader.varint(); left != 0 && reader.ok(); --left) {
    const std::string_view name = reader.text();
    if (reader.ok()) names.push_back(maps.names().number_of(name));
  }
  std::uint64_t number = reader.varint();
  for (std::uint64_t left = reader.varint(); left != 0 && reader.ok(); --left) {
    ByteReader entry(reader.bytes(reader.varint()));
    MapsChange change;
    if (!reader.ok() || !parse_change(entry, names, change)) return false;
    maps.add(number++, std::move(change));
  }
  return reader.ok();
}

} // namespace heaptape
