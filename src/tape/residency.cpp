#include "tape/residency.h"

#include <algorithm>

#include "base/byte_cursor.h"
#include "tape/maps.h"

namespace heaptape {

namespace {
// Beyond it addresses make no sense, and sums below cannot overflow.
constexpr std::uint64_t kMostUnits = std::uint64_t{1} << 52;
} // namespace

void put_residency(const Residency* look, std::uint64_t peak_rss_bytes, std::vector<std::byte>& out) {
  ByteWriter writer(out);
  writer.varint(peak_rss_bytes);
  writer.varint(look != nullptr ? 1 : 0);
  if (look == nullptr) return;
  writer.varint(look->time_us);
  writer.varint(look->rss_bytes);
  writer.varint(look->whole ? 1 : 0);
  writer.varint(look->runs.size());
  std::uint64_t last = 0;
  for (const ResidentRun& run : look->runs) {
    writer.varint(run.begin / kMapUnit - last);
    writer.varint(run.bytes() / kMapUnit * 2 + (run.of_file ? 1 : 0));
    last = run.end / kMapUnit;
  }
}

bool parse_residency(std::span<const std::byte> payload, ResidentFacts& facts) {
  ByteReader reader(payload);
  const std::uint64_t peak = reader.varint();
  const std::uint64_t looks = reader.varint();
  if (!reader.ok() || looks > 1) return false;
  facts.peak_rss_bytes = std::max(facts.peak_rss_bytes, peak);
  if (looks == 0) return true;
  Residency look;
  look.time_us = reader.varint();
  look.rss_bytes = reader.varint();
  look.whole = reader.varint() != 0;
  const std::uint64_t count = reader.varint();
  if (!reader.ok() || count > reader.remaining() / 2) return false;
  look.runs.reserve(static_cast<std::size_t>(count));
  std::uint64_t at = 0;
  for (std::uint64_t left = count; left != 0; --left) {
    const std::uint64_t gap = reader.varint(), length = reader.varint();
    if (!reader.ok() || gap >= kMostUnits || length < 2 || length / 2 >= kMostUnits ||
        at + gap + length / 2 >= kMostUnits)
      return false;
    at += gap;
    look.runs.push_back({at * kMapUnit, (at + length / 2) * kMapUnit, (length & 1) != 0});
    at += length / 2;
  }
  // Of two that are equal the later one: it is nearer to what made the memory full.
  if (!facts.highest || look.rss_bytes >= facts.highest->rss_bytes) facts.highest = std::move(look);
  return true;
}

} // namespace heaptape
