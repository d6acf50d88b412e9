#include "tape/cpu_codec.h"

#include <algorithm>

#include "base/byte_cursor.h"

namespace heaptape {

namespace {

constexpr std::uint64_t kColumns = 5;

auto place_of(std::vector<CpuSegment>& segments, std::uint32_t number) {
  return std::lower_bound(segments.begin(), segments.end(), number,
                          [](const CpuSegment& segment, std::uint32_t wanted) { return segment.number < wanted; });
}

// Differences between neighbours, of one field of all samples.
template <class Field>
void put_column(ByteWriter& writer, std::span<const CpuSample> samples, Field field) {
  std::uint64_t last = 0;
  for (const CpuSample& sample : samples) {
    const std::uint64_t now = field(sample);
    writer.signed_varint(static_cast<std::int64_t>(now - last));
    last = now;
  }
}

template <class Set>
void parse_column(ByteReader& reader, std::span<CpuSample> samples, Set set) {
  std::uint64_t value = 0;
  for (CpuSample& sample : samples) {
    value += static_cast<std::uint64_t>(reader.signed_varint());
    set(sample, value);
  }
}

} // namespace

const CpuSegment* CpuProfile::find(std::uint32_t number) const {
  const auto found =
      std::lower_bound(segments.begin(), segments.end(), number,
                       [](const CpuSegment& segment, std::uint32_t wanted) { return segment.number < wanted; });
  return found != segments.end() && found->number == number ? &*found : nullptr;
}

void put_cpu(std::span<const CpuSegment> segments, std::span<const CpuSample> samples, std::vector<std::byte>& out) {
  ByteWriter writer(out);
  writer.varint(segments.size());
  std::vector<std::byte> scratch;
  for (const CpuSegment& segment : segments) {
    scratch.clear();
    ByteWriter entry(scratch);
    entry.varint(segment.number);
    entry.varint(segment.hz);
    entry.varint(segment.begin_us);
    entry.varint(segment.end_us);
    writer.varint(scratch.size());
    writer.bytes(scratch);
  }
  writer.varint(samples.size());
  put_column(writer, samples, [](const CpuSample& sample) { return sample.time_us; });
  put_column(writer, samples, [](const CpuSample& sample) { return std::uint64_t{sample.thread.value}; });
  put_column(writer, samples, [](const CpuSample& sample) { return std::uint64_t{sample.stack.value}; });
  put_column(writer, samples, [](const CpuSample& sample) { return std::uint64_t{sample.weight}; });
  put_column(writer, samples, [](const CpuSample& sample) { return std::uint64_t{sample.segment}; });
}

bool parse_cpu(std::span<const std::byte> payload, CpuProfile& profile) {
  ByteReader reader(payload);
  for (std::uint64_t left = reader.varint(); left != 0 && reader.ok(); --left) {
    ByteReader entry(reader.bytes(reader.varint()));
    CpuSegment segment;
    segment.number = static_cast<std::uint32_t>(entry.varint());
    segment.hz = static_cast<std::uint32_t>(entry.varint());
    segment.begin_us = entry.varint();
    segment.end_us = entry.varint();
    if (!entry.ok() || !reader.ok()) return false;
    const auto place = place_of(profile.segments, segment.number);
    if (place != profile.segments.end() && place->number == segment.number)
      *place = segment;
    else
      profile.segments.insert(place, segment);
  }
  const std::uint64_t count = reader.varint();
  // Each sample takes at least a byte per column, so a count that passes is backed by the payload.
  if (!reader.ok() || count > reader.remaining() / kColumns) return false;
  std::vector<CpuSample> samples(count);
  parse_column(reader, samples, [](CpuSample& sample, std::uint64_t value) { sample.time_us = value; });
  const auto narrow = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  parse_column(reader, samples,
               [&](CpuSample& sample, std::uint64_t value) { sample.thread = ThreadId(narrow(value)); });
  parse_column(reader, samples, [&](CpuSample& sample, std::uint64_t value) { sample.stack = StackId(narrow(value)); });
  parse_column(reader, samples, [&](CpuSample& sample, std::uint64_t value) { sample.weight = narrow(value); });
  parse_column(reader, samples, [&](CpuSample& sample, std::uint64_t value) { sample.segment = narrow(value); });
  if (!reader.ok()) return false;
  profile.samples.insert(profile.samples.end(), samples.begin(), samples.end());
  return true;
}

} // namespace heaptape
