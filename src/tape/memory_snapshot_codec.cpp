#include "tape/memory_snapshot_codec.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "base/byte_cursor.h"
#include "tape/format.h"
#include "tape/sized_entry.h"

namespace heaptape {

namespace {

// Beyond it addresses make no sense, and sums below cannot overflow.
constexpr std::uint64_t kMostUnits = std::uint64_t{1} << 52;
// Per payload: the worst case, some twenty bytes for each, fits.
constexpr std::size_t kRunsPerPart = std::size_t{1} << 18;
constexpr std::size_t kRegionsPerPart = std::size_t{1} << 16;
constexpr std::size_t kThreadBytesPerPart = std::size_t{4} << 20;
constexpr std::uint64_t kMostExtended = std::uint64_t{64} << 10;

void put_facts(const MemorySnapshot& snapshot, ByteWriter& out) {
  out.text(snapshot.name);
  out.varint(snapshot.event);
  out.varint(snapshot.time_us);
  out.varint(static_cast<std::uint64_t>(snapshot.method));
  out.varint(snapshot.pause_us);
  out.varint(snapshot.duration_us);
  out.varint(snapshot.whole ? 1 : 0);
  out.varint(snapshot.new_pages);
  out.varint(snapshot.auxiliary.size());
  out.bytes(snapshot.auxiliary);
  out.varint(snapshot.in_flight.size());
  for (const std::uint64_t address : snapshot.in_flight) out.varint(address);
  if (!snapshot.live) return;
  out.varint(snapshot.live->bytes);
  out.varint(snapshot.live->blocks);
}

bool parse_facts(ByteReader& in, MemorySnapshot& snapshot) {
  snapshot.name = in.text();
  snapshot.event = in.varint();
  snapshot.time_us = in.varint();
  const std::uint64_t method = in.varint();
  snapshot.method = method <= static_cast<std::uint64_t>(SnapshotMethod::Twin) ? static_cast<SnapshotMethod>(method)
                                                                               : SnapshotMethod::Unknown;
  snapshot.pause_us = in.varint();
  snapshot.duration_us = in.varint();
  snapshot.whole = in.varint() != 0;
  snapshot.new_pages = in.varint();
  const auto auxiliary = in.bytes(in.varint());
  snapshot.auxiliary.assign(auxiliary.begin(), auxiliary.end());
  for (std::uint64_t left = in.varint(); left != 0 && in.ok(); --left) {
    const std::uint64_t address = in.varint();
    if (in.ok()) snapshot.in_flight.push_back(address);
  }
  if (!in.ok()) return false;
  const LiveSum live{in.varint(), in.varint()};
  if (in.ok()) snapshot.live = live; // tapes of before have nothing here
  return true;
}

void put_thread(const ThreadState& thread, ByteWriter& out) {
  out.varint(thread.tid);
  out.varint(thread.signal);
  out.varint(thread.stopped ? 1 : 0);
  out.varint(thread.registers.size());
  for (const std::uint64_t word : thread.registers) out.varint(word);
  out.varint(thread.extended.size());
  out.bytes(thread.extended);
}

bool parse_thread(ByteReader& in, ThreadState& thread) {
  thread.tid = static_cast<std::uint32_t>(in.varint());
  thread.signal = static_cast<std::uint32_t>(in.varint());
  thread.stopped = in.varint() != 0;
  if (in.varint() != thread.registers.size()) return false;
  for (std::uint64_t& word : thread.registers) word = in.varint();
  const std::uint64_t size = in.varint();
  if (size > kMostExtended) return false;
  const auto extended = in.bytes(size);
  thread.extended.assign(extended.begin(), extended.end());
  return in.ok();
}

// The names that these regions use, then the regions.
void put_regions(std::span<const MappedRange> regions, const MapNames& names, ByteWriter& out) {
  std::unordered_map<std::uint32_t, std::uint64_t> numbers;
  std::vector<std::uint32_t> used;
  for (const MappedRange& region : regions) {
    if (region.name != 0 && numbers.try_emplace(region.name, used.size() + 1).second) used.push_back(region.name);
  }
  out.varint(used.size());
  for (const std::uint32_t name : used) out.text(names[name]);
  out.varint(regions.size());
  std::uint64_t last = 0;
  for (const MappedRange& region : regions) {
    out.varint(region.begin / kMapUnit - last);
    out.varint((region.end - region.begin) / kMapUnit);
    out.varint(region.permissions);
    out.varint(region.name == 0 ? 0 : numbers.at(region.name));
    out.varint(region.offset / kMapUnit);
    last = region.end / kMapUnit;
  }
}

bool parse_regions(ByteReader& in, MapNames& all, std::vector<MappedRange>& regions) {
  std::vector<std::uint32_t> names{0};
  for (std::uint64_t left = in.varint(); left != 0 && in.ok(); --left) {
    const std::string_view name = in.text();
    if (in.ok()) names.push_back(all.number_of(name));
  }
  std::uint64_t at = 0;
  const std::uint64_t behind = regions.empty() ? 0 : regions.back().end / kMapUnit;
  for (std::uint64_t left = in.varint(); left != 0 && in.ok(); --left) {
    const std::uint64_t gap = in.varint(), length = in.varint(), permissions = in.varint();
    const std::uint64_t name = in.varint(), offset = in.varint();
    if (!in.ok() || gap >= kMostUnits || length == 0 || length >= kMostUnits || at + gap + length >= kMostUnits ||
        at + gap < behind || permissions > 0xff || name >= names.size() || offset >= kMostUnits)
      return false;
    at += gap;
    regions.push_back({at * kMapUnit, (at + length) * kMapUnit, offset * kMapUnit, names[name],
                       static_cast<std::uint8_t>(permissions)});
    at += length;
  }
  return in.ok();
}

// Stored pages are often those that follow the last ones, so their numbers are differences.
void put_runs(std::span<const PageRun> runs, ByteWriter& out) {
  out.varint(runs.size());
  std::uint64_t last = 0, next_page = 0;
  for (const PageRun& run : runs) {
    out.varint(run.begin / kPageBytes - last);
    out.varint(run.pages() << 3 | static_cast<std::uint64_t>(run.state));
    last = run.end / kPageBytes;
    if (run.state == PageState::Fill) out.u64(run.value);
    if (run.state != PageState::Stored) continue;
    out.signed_varint(static_cast<std::int64_t>(run.value - next_page));
    next_page = run.value + run.pages();
  }
}

bool parse_runs(ByteReader& in, std::vector<PageRun>& runs) {
  std::uint64_t at = 0, next_page = 0;
  const std::uint64_t behind = runs.empty() ? 0 : runs.back().end / kPageBytes;
  for (std::uint64_t left = in.varint(); left != 0 && in.ok(); --left) {
    const std::uint64_t gap = in.varint(), length = in.varint();
    const std::uint64_t pages = length >> 3;
    if (!in.ok() || gap >= kMostUnits || pages == 0 || pages >= kMostUnits || at + gap + pages >= kMostUnits ||
        at + gap < behind)
      return false;
    at += gap;
    PageRun run{at * kPageBytes, (at + pages) * kPageBytes, static_cast<PageState>(length & 7), 0};
    at += pages;
    if (run.state == PageState::Fill) run.value = in.u64();
    if (run.state == PageState::Stored) {
      run.value = next_page + static_cast<std::uint64_t>(in.signed_varint());
      if (run.value >= kMostUnits) return false;
      next_page = run.value + pages;
    }
    if (in.ok()) runs.push_back(run);
  }
  return in.ok();
}

// As many threads as fit into a part. A thread more than that, whose registers are many, still fits.
std::size_t some_threads(std::span<const ThreadState> threads) {
  std::size_t count = 0;
  for (std::size_t bytes = 0; count < threads.size() && bytes < kThreadBytesPerPart; ++count)
    bytes += threads[count].extended.size() + 300;
  return count;
}

} // namespace

std::vector<std::vector<std::byte>> encode_snapshot(const MemorySnapshot& snapshot, const MapNames& names) {
  std::vector<std::vector<std::byte>> payloads;
  std::vector<std::byte> entry;
  std::span<const ThreadState> threads = snapshot.threads;
  std::span<const MappedRange> regions = snapshot.regions;
  std::span<const PageRun> runs = snapshot.runs;
  do {
    const std::size_t thread_count = some_threads(threads);
    const std::size_t region_count = std::min(regions.size(), kRegionsPerPart);
    const std::size_t run_count = std::min(runs.size(), kRunsPerPart);
    const bool last = thread_count == threads.size() && region_count == regions.size() && run_count == runs.size();
    std::vector<std::byte> payload;
    ByteWriter writer(payload);
    writer.varint(snapshot.number);
    writer.varint(payloads.size());
    writer.varint(last ? 1 : 0);
    if (payloads.empty()) put_sized(payload, entry, [&](ByteWriter& out) { put_facts(snapshot, out); });
    writer.varint(thread_count);
    for (const ThreadState& thread : threads.first(thread_count))
      put_sized(payload, entry, [&](ByteWriter& out) { put_thread(thread, out); });
    put_regions(regions.first(region_count), names, writer);
    put_runs(runs.first(run_count), writer);
    threads = threads.subspan(thread_count);
    regions = regions.subspan(region_count);
    runs = runs.subspan(run_count);
    payloads.push_back(std::move(payload));
  } while (!threads.empty() || !regions.empty() || !runs.empty());
  return payloads;
}

bool SnapshotParser::add(std::span<const std::byte> payload, Snapshots& snapshots) {
  ByteReader reader(payload);
  const std::uint64_t number = reader.varint(), part = reader.varint();
  const bool last = reader.varint() != 0;
  if (part == 0) {
    begun_.emplace();
    begun_->number = number;
    parts_ = 0;
    ByteReader facts(reader.bytes(reader.varint()));
    if (!reader.ok() || !parse_facts(facts, *begun_)) begun_.reset();
  }
  if (!begun_ || begun_->number != number || parts_ != part || number == 0) {
    begun_.reset();
    return false;
  }
  ++parts_;
  bool good = begun_->runs.size() < Snapshots::kMostRuns;
  for (std::uint64_t left = reader.varint(); left != 0 && reader.ok() && good; --left) {
    ByteReader entry(reader.bytes(reader.varint()));
    ThreadState thread;
    good = reader.ok() && parse_thread(entry, thread);
    if (good) begun_->threads.push_back(std::move(thread));
  }
  good = good && reader.ok() && parse_regions(reader, snapshots.names(), begun_->regions) &&
         parse_runs(reader, begun_->runs);
  if (good && !last) return true;
  std::optional<MemorySnapshot> whole = std::exchange(begun_, std::nullopt);
  return good && snapshots.add(std::move(*whole));
}

PageHash page_hash(std::span<const std::byte> page) {
  const XXH128_hash_t hash = XXH3_128bits(page.data(), page.size());
  return {hash.low64, hash.high64};
}

namespace {

constexpr PageLayout kLayouts[] = {PageLayout::AsIs, PageLayout::Relative, PageLayout::Columns};

constexpr PagesCodec codec_of(PageLayout layout) {
  switch (layout) {
  case PageLayout::AsIs: return PagesCodec::Zstd;
  case PageLayout::Relative: return PagesCodec::Relative;
  case PageLayout::Columns: return PagesCodec::Columns;
  }
  return PagesCodec::Zstd;
}

PageLayout layout_of(PagesCodec codec) {
  for (const PageLayout layout : kLayouts) {
    if (codec_of(layout) == codec) return layout;
  }
  return PageLayout::AsIs;
}

// Tried on the pages in the middle: neighbours are mostly of one kind, and to pack all three times would cost three times as much.
PageLayout best_layout(std::span<const std::byte> pages, PagePacker& packer) {
  constexpr std::size_t kTriedBytes = 4 * kPageBytes;
  const std::size_t size = std::min(pages.size(), kTriedBytes);
  const std::span<const std::byte> tried = pages.subspan((pages.size() - size) / 2 / kPageBytes * kPageBytes, size);
  const std::span<std::byte> laid_out = std::span(packer.laid_out).first(size);
  PageLayout best = PageLayout::AsIs;
  std::size_t least = size;
  for (const PageLayout layout : kLayouts) {
    packer.packed.clear();
    lay_out(layout, tried, laid_out);
    if (!packer.compressor.append(laid_out, packer.packed) || packer.packed.size() >= least) continue;
    best = layout;
    least = packer.packed.size();
  }
  return best;
}

} // namespace

void put_pages(std::uint64_t first, std::span<const std::byte> pages, PagePacker& packer, std::vector<std::byte>& out) {
  const std::size_t begin = out.size();
  out.resize(begin + sizeof(PagesHead));
  packer.laid_out.resize(pages.size());
  // Chunks side by side are mostly of one kind, too: every other one is tried.
  if (!std::exchange(packer.keeps_layout, !packer.keeps_layout)) packer.layout = best_layout(pages, packer);
  const PageLayout layout = packer.layout;
  if (layout != PageLayout::AsIs) lay_out(layout, pages, packer.laid_out);
  const bool packed = packer.compressor.append(layout != PageLayout::AsIs ? packer.laid_out : pages, out);
  if (!packed) out.insert(out.end(), pages.begin(), pages.end());
  PagesHead head{};
  head.first = first;
  head.count = static_cast<std::uint32_t>(pages.size() / kPageBytes);
  head.codec = static_cast<std::uint32_t>(packed ? codec_of(layout) : PagesCodec::Raw);
  head.checksum = format::checksum(std::as_bytes(std::span(&head, 1)).first(offsetof(PagesHead, checksum)));
  std::memcpy(out.data() + begin, &head, sizeof head);
}

std::optional<PagesHead> parse_pages_head(std::span<const std::byte> payload, Checksums checksums) {
  PagesHead head{};
  if (payload.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, payload.data(), sizeof head);
  const auto covered = payload.first(offsetof(PagesHead, checksum));
  if (checksums == Checksums::Verify && head.checksum != format::checksum(covered)) return std::nullopt;
  if (head.count == 0 || head.count > kPagesPerChunk || head.first >= kMostUnits ||
      head.codec > static_cast<std::uint32_t>(PagesCodec::Columns))
    return std::nullopt;
  return head;
}

std::optional<std::vector<std::byte>> parse_pages(std::span<const std::byte> payload, Checksums checksums) {
  const auto head = parse_pages_head(payload, checksums);
  if (!head) return std::nullopt;
  const auto codec = static_cast<PagesCodec>(head->codec);
  const auto stored = payload.subspan(sizeof(PagesHead));
  std::vector<std::byte> pages(head->count * kPageBytes);
  if (codec == PagesCodec::Raw) {
    if (stored.size() != pages.size()) return std::nullopt;
    std::copy(stored.begin(), stored.end(), pages.begin());
    return pages;
  }
  if (Decompressor decompressor; !decompressor.fill(stored, pages)) return std::nullopt;
  const PageLayout layout = layout_of(codec);
  if (layout == PageLayout::AsIs) return pages;
  std::vector<std::byte> restored(pages.size());
  restore(layout, pages, restored);
  return restored;
}

} // namespace heaptape
