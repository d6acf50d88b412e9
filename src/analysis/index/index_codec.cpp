#include "analysis/index/index_codec.h"

#include <algorithm>
#include <limits>

#include "analysis/index/timeline_builder.h"

namespace heaptape {

namespace {

constexpr std::uint64_t kLayout = 2;
// Rows per part: the worst case, ten bytes for every number, fits into a payload.
constexpr std::size_t kRowsPerPart = std::size_t{1} << 15;
constexpr std::uint64_t kMostBuckets = 1 << 14;
constexpr auto kFirstKinds = static_cast<std::size_t>(EventKind::PoolAlloc); // kinds of the first layout

enum class Section : std::uint8_t {
  Overview = 1,
  Owners = 2,
  Threads = 3,
  Mappings = 4,
  Growth = 5,
  PeakBlocks = 7,
  PeakMappings = 8
};

// What is written and what is read is the same list of fields, so it stands here once: a field goes out, or comes in.
struct Out {
  ByteWriter bytes;
  void number(std::uint64_t& field) { bytes.varint(field); }
  bool ok() const { return true; }
};
struct In {
  ByteReader bytes;
  void number(std::uint64_t& field) { field = bytes.varint(); }
  bool ok() const { return bytes.ok(); }
};

template <class Archive>
void exchange(Archive& archive, Cost& cost) {
  archive.number(cost.bytes);
  archive.number(cost.blocks);
}

template <class Archive>
void exchange(Archive& archive, HeapTotals& totals) {
  for (std::uint64_t* field :
       {&totals.events, &totals.allocated_bytes, &totals.allocated_blocks, &totals.live_bytes, &totals.live_blocks,
        &totals.peak_bytes, &totals.peak_event, &totals.peak_us, &totals.unknown_releases, &totals.collisions})
    archive.number(*field);
  // Pools came later than this list. Where there are none, the other kinds add up to all events.
  std::uint64_t left = totals.events;
  for (std::size_t kind = 0; kind < kFirstKinds; ++kind) {
    archive.number(totals.per_kind[kind]);
    left -= totals.per_kind[kind];
  }
  if (left == 0) return;
  std::uint64_t& made = totals.per_kind[static_cast<std::size_t>(EventKind::PoolAlloc)];
  archive.number(made);
  totals.per_kind[static_cast<std::size_t>(EventKind::PoolFree)] = left - made;
}

template <class Archive>
void exchange(Archive& archive, Figures& figures) {
  for (Cost* cost : {&figures.allocated, &figures.freed, &figures.at_peak, &figures.temporary, &figures.short_lived,
                     &figures.regrown})
    exchange(archive, *cost);
  archive.number(figures.lifetime_us);
  archive.number(figures.largest);
}

template <class Archive>
void exchange(Archive& archive, MappingFigures& figures) {
  exchange(archive, figures.mapped);
  exchange(archive, figures.open);
  archive.number(figures.most_bytes);
}

template <class Archive>
void exchange(Archive& archive, std::optional<TotalPeak>& peak) {
  std::uint64_t there = peak ? 1 : 0;
  archive.number(there);
  if (!archive.ok() || there == 0) return;
  if (!peak) peak.emplace();
  for (std::uint64_t* field : {&peak->bytes, &peak->heap_bytes, &peak->event, &peak->time_us}) archive.number(*field);
}

template <class Archive>
void exchange(Archive& archive, TimeBucket& bucket) {
  for (std::uint64_t* field : {&bucket.min_bytes, &bucket.max_bytes, &bucket.last_bytes, &bucket.min_blocks,
                               &bucket.max_blocks, &bucket.last_blocks, &bucket.allocated_bytes, &bucket.events})
    archive.number(*field);
}

template <class Archive>
void exchange(Archive& archive, SizeHistogram& sizes, LifetimeHistogram& lifetimes) {
  for (std::size_t i = 0; i < kLogBuckets; ++i) {
    for (Cost* cost : {&sizes[i].allocated, &sizes[i].live, &sizes[i].at_peak, &lifetimes[i].freed, &lifetimes[i].live})
      exchange(archive, *cost);
  }
}

// Everything that is not a list of rows. Samples are not kept: they are on the tape.
template <class Archive>
void exchange_overview(Archive& archive, Findings& findings, TimelineLevel& finest) {
  exchange(archive, findings.totals);
  archive.number(findings.end_us);
  archive.number(findings.unread_events);
  archive.number(findings.unknown_stacks);
  exchange(archive, findings.sizes, findings.lifetimes);
  exchange(archive, findings.mappings.anonymous);
  exchange(archive, findings.mappings.file);
  archive.number(findings.mappings.anonymous_at_peak_bytes);
  archive.number(findings.mappings.unknown_unmaps);
  exchange(archive, findings.total_peak);
  for (std::uint64_t& moment : findings.growth.moments_us) archive.number(moment);
  archive.number(finest.bucket_us);
  std::uint64_t buckets = finest.buckets.size();
  archive.number(buckets);
  if (!archive.ok() || buckets > kMostBuckets) return;
  finest.buckets.resize(static_cast<std::size_t>(buckets));
  for (TimeBucket& bucket : finest.buckets) exchange(archive, bucket);
}

// Rows stand in ascending order of their key, which is stored as the distance to the one before; the first to 0, all others
// are at least 1.
class Keys {
public:
  void put(ByteWriter& bytes, std::uint64_t key) {
    bytes.varint(key - last_);
    last_ = key;
  }
  std::uint64_t take(ByteReader& bytes) {
    const std::uint64_t distance = bytes.varint();
    if ((distance == 0 && !first_) || distance > std::numeric_limits<std::uint64_t>::max() - last_) bytes.fail();
    first_ = false;
    return last_ += distance;
  }

private:
  std::uint64_t last_ = 0;
  bool first_ = true;
};

std::uint64_t key_of(const OwnerFigures& row) {
  return std::uint64_t{row.owner.stack.value} << 32 | row.owner.thread.value;
}
std::uint64_t key_of(const ThreadFigures& row) { return row.thread.value; }
std::uint64_t key_of(const StackMappings& row) { return row.stack.value; }
std::uint64_t key_of(const StackGrowth& row) { return row.stack.value; }
std::uint64_t key_of(const OwnerShare& row) {
  return std::uint64_t{row.owner.stack.value} << 32 | row.owner.thread.value;
}
std::uint64_t key_of(const StackShare& row) { return row.stack.value; }

bool set_owner(Owner& owner, std::uint64_t key) {
  owner = {StackId(static_cast<std::uint32_t>(key >> 32)), ThreadId(static_cast<std::uint32_t>(key))};
  return true;
}
bool set_key(OwnerFigures& row, std::uint64_t key) { return set_owner(row.owner, key); }
bool set_key(OwnerShare& row, std::uint64_t key) { return set_owner(row.owner, key); }
template <class Id>
bool set_id(Id& id, std::uint64_t key) {
  id = Id(static_cast<std::uint32_t>(key));
  return key <= std::numeric_limits<std::uint32_t>::max();
}
bool set_key(ThreadFigures& row, std::uint64_t key) { return set_id(row.thread, key); }
bool set_key(StackMappings& row, std::uint64_t key) { return set_id(row.stack, key); }
bool set_key(StackGrowth& row, std::uint64_t key) { return set_id(row.stack, key); }
bool set_key(StackShare& row, std::uint64_t key) { return set_id(row.stack, key); }

template <class Archive>
void exchange_row(Archive& archive, OwnerFigures& row) {
  exchange(archive, static_cast<Figures&>(row));
}
// The rest is the sum over the thread's owners.
template <class Archive>
void exchange_row(Archive& archive, ThreadFigures& row) {
  exchange(archive, row.freed_here);
  archive.number(row.events);
  archive.number(row.first_us);
  archive.number(row.last_us);
}
template <class Archive>
void exchange_row(Archive& archive, StackMappings& row) {
  exchange(archive, static_cast<MappingFigures&>(row));
}
template <class Archive>
void exchange_row(Archive& archive, StackGrowth& row) {
  for (Cost& cost : row.live) exchange(archive, cost);
}

template <class Archive>
void exchange_row(Archive& archive, OwnerShare& row) {
  exchange(archive, row.cost);
}
template <class Archive>
void exchange_row(Archive& archive, StackShare& row) {
  exchange(archive, row.cost);
}

template <class Row>
Result<> put_rows(Section section, std::span<const Row> rows, const AddPart& add) {
  std::vector<std::byte> payload;
  while (!rows.empty()) {
    const std::size_t count = std::min(rows.size(), kRowsPerPart);
    payload.clear();
    Out out{ByteWriter(payload)};
    out.bytes.u8(static_cast<std::uint8_t>(section));
    out.bytes.varint(count);
    Keys keys;
    for (const Row& row : rows.first(count)) {
      keys.put(out.bytes, key_of(row));
      Row copy = row;
      exchange_row(out, copy);
    }
    if (auto added = add(payload); !added) return added;
    rows = rows.subspan(count);
  }
  return Unit{};
}

template <class Row>
bool parse_rows(ByteReader bytes, std::vector<Row>& rows) {
  const std::uint64_t count = bytes.varint();
  // A row takes at least this many bytes; so the memory for the rows is bounded by the size of the payload.
  if (!bytes.ok() || count > bytes.remaining() / 3) return false;
  In in{bytes};
  Keys keys;
  for (std::uint64_t left = count; left != 0; --left) {
    Row row;
    const bool sensible = set_key(row, keys.take(in.bytes));
    exchange_row(in, row);
    if (!in.ok() || !sensible || (!rows.empty() && key_of(rows.back()) >= key_of(row))) return false;
    rows.push_back(row);
  }
  return in.bytes.done();
}

void put_offsets(ByteWriter& bytes, std::span<const std::uint64_t> offsets, std::uint64_t& last) {
  bytes.varint(offsets.size());
  for (const std::uint64_t offset : offsets) {
    bytes.varint(offset - last);
    last = offset;
  }
}

void parse_offsets(ByteReader& bytes, std::vector<std::uint64_t>& offsets, std::uint64_t& last) {
  const std::uint64_t count = bytes.varint();
  if (count > bytes.remaining()) return bytes.fail();
  for (std::uint64_t left = count; left != 0; --left) offsets.push_back(last += bytes.varint());
}

} // namespace

void put_totals(const HeapTotals& totals, std::vector<std::byte>& out) {
  HeapTotals copy = totals;
  Out archive{ByteWriter(out)};
  exchange(archive, copy);
}

bool parse_totals(ByteReader& reader, HeapTotals& totals) {
  In archive{reader};
  exchange(archive, totals);
  reader = archive.bytes;
  return reader.ok();
}

void put_index_head(const IndexHead& head, std::vector<std::byte>& out) {
  ByteWriter bytes(out);
  bytes.varint(kLayout);
  bytes.varint(head.events);
  bytes.u64(head.fingerprint);
  bytes.varint(head.stacks);
  std::uint64_t last = 0;
  put_offsets(bytes, head.figures, last);
  bytes.varint(head.keyframes.size());
  std::uint64_t event = 0, time_us = 0;
  last = 0;
  for (const Keyframe& keyframe : head.keyframes) {
    bytes.varint(keyframe.event - event);
    bytes.varint(keyframe.time_us - time_us);
    event = keyframe.event;
    time_us = keyframe.time_us;
    put_offsets(bytes, keyframe.parts, last);
  }
}

bool parse_index_head(std::span<const std::byte> payload, IndexHead& head) {
  ByteReader bytes(payload);
  if (bytes.varint() != kLayout) return false;
  head.events = bytes.varint();
  head.fingerprint = bytes.u64();
  head.stacks = bytes.varint();
  std::uint64_t last = 0;
  parse_offsets(bytes, head.figures, last);
  const std::uint64_t keyframes = bytes.varint();
  if (!bytes.ok() || keyframes > bytes.remaining() / 3) return false;
  std::uint64_t event = 0, time_us = 0;
  last = 0;
  for (std::uint64_t left = keyframes; left != 0; --left) {
    const std::uint64_t distance = bytes.varint();
    if (distance == 0 || distance > head.events - event) return false;
    Keyframe keyframe;
    keyframe.event = event += distance;
    keyframe.time_us = time_us += bytes.varint();
    parse_offsets(bytes, keyframe.parts, last);
    if (!bytes.ok()) return false;
    head.keyframes.push_back(std::move(keyframe));
  }
  return bytes.ok();
}

Result<> put_findings(const Findings& findings, const AddPart& add) {
  std::vector<std::byte> payload;
  Out out{ByteWriter(payload)};
  const TotalPeak total_peak = findings.total_peak.value_or(TotalPeak{});
  out.bytes.u8(static_cast<std::uint8_t>(Section::Overview));
  for (const std::size_t rows : {findings.by_owner.size(), findings.by_thread.size(), findings.mappings.by_stack.size(),
                                 findings.growth.stacks.size(), total_peak.blocks.size(), total_peak.mappings.size()})
    out.bytes.varint(rows);
  Findings copy;
  copy.totals = findings.totals;
  copy.end_us = findings.end_us;
  copy.unread_events = findings.unread_events;
  copy.unknown_stacks = findings.unknown_stacks;
  copy.sizes = findings.sizes;
  copy.lifetimes = findings.lifetimes;
  copy.mappings.anonymous = findings.mappings.anonymous;
  copy.mappings.file = findings.mappings.file;
  copy.mappings.anonymous_at_peak_bytes = findings.mappings.anonymous_at_peak_bytes;
  copy.mappings.unknown_unmaps = findings.mappings.unknown_unmaps;
  copy.total_peak = findings.total_peak;
  copy.growth.moments_us = findings.growth.moments_us;
  TimelineLevel finest = findings.timeline.levels.back();
  exchange_overview(out, copy, finest);
  if (auto added = add(payload); !added) return added;
  if (auto added = put_rows<OwnerFigures>(Section::Owners, findings.by_owner, add); !added) return added;
  if (auto added = put_rows<ThreadFigures>(Section::Threads, findings.by_thread, add); !added) return added;
  if (auto added = put_rows<StackMappings>(Section::Mappings, findings.mappings.by_stack, add); !added) return added;
  if (auto added = put_rows<StackGrowth>(Section::Growth, findings.growth.stacks, add); !added) return added;
  if (auto added = put_rows<OwnerShare>(Section::PeakBlocks, total_peak.blocks, add); !added) return added;
  return put_rows<StackShare>(Section::PeakMappings, total_peak.mappings, add);
}

bool FindingsParser::add(std::span<const std::byte> payload) {
  ByteReader bytes(payload);
  switch (static_cast<Section>(bytes.u8())) {
  case Section::Overview: {
    if (overview_) return false;
    overview_ = true;
    for (std::uint64_t* rows : {&owners_, &threads_, &mappings_, &growing_, &peak_blocks_, &peak_mappings_})
      *rows = bytes.varint();
    In in{bytes};
    TimelineLevel finest;
    exchange_overview(in, findings_, finest);
    if (!in.bytes.done() || finest.bucket_us == 0 || finest.buckets.empty()) return false;
    findings_.timeline = make_timeline(std::move(finest));
    return true;
  }
  case Section::Owners: return parse_rows(bytes, findings_.by_owner);
  case Section::Threads: return parse_rows(bytes, findings_.by_thread);
  case Section::Mappings: return parse_rows(bytes, findings_.mappings.by_stack);
  case Section::Growth: return parse_rows(bytes, findings_.growth.stacks);
  case Section::PeakBlocks: return parse_rows(bytes, total_peak_.blocks);
  case Section::PeakMappings: return parse_rows(bytes, total_peak_.mappings);
  }
  return false;
}

bool FindingsParser::finish(Findings& findings) {
  if (!overview_ || findings_.by_owner.size() != owners_ || findings_.by_thread.size() != threads_ ||
      findings_.mappings.by_stack.size() != mappings_ || findings_.growth.stacks.size() != growing_ ||
      total_peak_.blocks.size() != peak_blocks_ || total_peak_.mappings.size() != peak_mappings_)
    return false;
  if (findings_.total_peak) {
    if (findings_.total_peak->heap_bytes > findings_.total_peak->bytes) return false;
    findings_.total_peak->blocks = std::move(total_peak_.blocks);
    findings_.total_peak->mappings = std::move(total_peak_.mappings);
  } else if (peak_blocks_ != 0 || peak_mappings_ != 0) {
    return false;
  }
  if (!sum_owners(findings_)) return false;
  findings = std::move(findings_);
  return true;
}

} // namespace heaptape
