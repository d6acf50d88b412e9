// Any bytes as the payload of any block: no crash, nothing beyond the promises of the parsers. Events that come out are
// put in again and have to come out the same.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "tape/contents_codec.h"
#include "tape/cpu_codec.h"
#include "tape/crash_codec.h"
#include "tape/event_decoder.h"
#include "tape/event_encoder.h"
#include "tape/inherited_codec.h"
#include "tape/maps_codec.h"
#include "tape/memory_error_codec.h"
#include "tape/memory_snapshot_codec.h"
#include "tape/payload_fuzz_input.h"
#include "tape/residency.h"
#include "tape/run_time_codec.h"
#include "tape/symbols_codec.h"

namespace {

using namespace heaptape;

std::vector<Event> decode(std::span<const std::byte> payload) {
  static EventDecoder decoder; // large; a new one each time would take most of the time
  std::vector<Event> events;
  if (!decoder.start(payload)) return events;
  std::array<Event, 100> room;
  for (auto run = decoder.next(room); !run.empty(); run = decoder.next(room))
    events.insert(events.end(), run.begin(), run.end());
  return events;
}

void check_events(std::span<const std::byte> input) {
  const std::vector<Event> events = decode(event_payload_from(input));
  if (events.empty()) return;
  std::uint64_t last_us = 0;
  EventEncoder encoder;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    HT_CHECK(event.number == i + 1 && event.kind < EventKind::TapeKinds && event.time_us >= last_us);
    last_us = event.time_us;
    // Some of these are right by chance, and none may do harm.
    encoder.add(event, event.number - event.address % 16);
  }
  HT_CHECK(decode(encoder.finish()) == events);
}

void check_stacks(std::span<const std::byte> input) {
  std::vector<StackNode> nodes(1);
  (void)parse_stacks(input, nodes);
  for (std::size_t id = 1; id < nodes.size(); ++id) HT_CHECK(nodes[id].parent.value < id);
}

// What can be read can be written, and reads the same.
void check_symbols(std::span<const std::byte> input, Symbols& symbols) {
  (void)parse_symbols(input, symbols);
  Symbols back;
  for (const auto& payload : encode_symbols(symbols)) HT_CHECK(parse_symbols(payload, back));
  HT_CHECK(back.size() == symbols.size());
}

void check_run_time_code(std::span<const std::byte> input, Symbols& symbols) {
  (void)parse_run_time_code(input, symbols);
  Symbols back;
  for (const auto& payload : encode_run_time_code(symbols.run_time_code()))
    HT_CHECK(parse_run_time_code(payload, back));
  HT_CHECK(back.size() == symbols.size());
}

// Every moment is in order, and can be put on a tape again.
void check_residency(std::span<const std::byte> input) {
  ResidentFacts facts;
  if (!parse_residency(input, facts) || !facts.highest) return;
  std::uint64_t end = 0;
  for (const ResidentRun& run : facts.highest->runs) {
    HT_CHECK(run.begin >= end && run.begin < run.end);
    end = run.end;
  }
  std::vector<std::byte> payload;
  put_residency(&*facts.highest, facts.peak_rss_bytes, payload);
  ResidentFacts back;
  HT_CHECK(parse_residency(payload, back) && back.highest == facts.highest);
}

void check_maps(std::span<const std::byte> input) {
  Maps maps;
  (void)parse_maps(input, maps);
  std::vector<MapsChange> changes;
  std::vector<MappedRange> before;
  for (std::size_t moment = 0; moment < std::min<std::size_t>(maps.size(), 64); ++moment) {
    std::vector<MappedRange> ranges = maps.ranges(moment);
    std::uint64_t end = 0;
    for (const MappedRange& range : ranges) {
      HT_CHECK(range.begin >= end && range.begin < range.end && range.name < maps.names().size());
      end = range.end;
    }
    changes.push_back(maps_change(before, ranges, maps.time_us(moment)));
    changes.back().whole = moment == 0;
    before = std::move(ranges);
  }
  std::vector<std::byte> payload;
  put_maps(0, changes, maps.names(), payload);
  Maps back;
  HT_CHECK(parse_maps(payload, back) && back.size() == changes.size());
  if (!back.empty()) HT_CHECK(back.ranges(back.size() - 1).size() == before.size());
}

// What can be read can be written, and reads the same.
void check_cpu(std::span<const std::byte> input) {
  CpuProfile profile, back;
  (void)parse_cpu(input, profile);
  std::vector<std::byte> payload;
  put_cpu(profile.segments, profile.samples, payload);
  HT_CHECK(parse_cpu(payload, back) && back == profile);
  for (std::size_t i = 1; i < profile.segments.size(); ++i)
    HT_CHECK(profile.segments[i - 1].number < profile.segments[i].number);
}

// Blocks that can be read can be written, and read the same.
void check_inherited(std::span<const std::byte> input) {
  std::vector<ForkMade> forks;
  std::optional<Inheritance> figures;
  std::optional<InheritedExtent> extent;
  std::vector<std::uint64_t> releases;
  (void)parse_inherited(input, {forks, figures, releases}, extent);
  std::vector<InheritedBlock> blocks, back;
  if (!parse_inherited_blocks(input, blocks)) return;
  for (const auto& payload : encode_inheritance({.blocks = blocks.size()}, blocks, {})) {
    std::optional<InheritedExtent> part;
    HT_CHECK(parse_inherited(payload, {forks, figures, releases}, part));
    if (part) HT_CHECK(parse_inherited_blocks(payload, back));
  }
  HT_CHECK(back == blocks && figures && figures->blocks == blocks.size());
}

// Snapshots that can be read can be written, and read the same; tables of pages are in order, and a difference leads from one to the next.
void check_snapshots(std::span<const std::byte> input) {
  Snapshots snapshots, back;
  SnapshotParser parser, back_parser;
  // Several payloads, each with its length in front.
  for (ByteReader reader(input); reader.ok() && reader.remaining() != 0;) {
    const auto payload = reader.bytes(reader.u16());
    if (reader.ok()) (void)parser.add(payload, snapshots);
  }
  std::vector<PageRun> before;
  for (std::size_t i = 0; i < std::min<std::size_t>(snapshots.size(), 64); ++i) {
    const std::vector<PageRun> pages = snapshots.pages(i);
    std::uint64_t end = 0;
    for (const PageRun& run : pages) {
      HT_CHECK(run.begin >= end && run.begin < run.end && run.state != PageState::None);
      end = run.end;
    }
    HT_CHECK(apply_page_changes(before, page_changes(before, pages)) == pages);
    before = pages;
  }
  for (const MemorySnapshot& snapshot : snapshots) {
    for (const auto& payload : encode_snapshot(snapshot, snapshots.names())) HT_CHECK(back_parser.add(payload, back));
  }
  HT_CHECK(back.size() == snapshots.size());
}

void check_pages(std::span<const std::byte> input) {
  const auto pages = parse_pages(input, Checksums::Ignore);
  if (pages) HT_CHECK(!pages->empty() && pages->size() <= kPagesPerChunk * kPageBytes);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto input = std::as_bytes(std::span(data, size)).subspan(1);
  Meta meta;
  std::vector<Module> modules;
  std::map<ThreadId, Thread> threads;
  std::vector<Sample> samples;
  std::vector<Mark> marks;
  std::map<std::uint32_t, Pool> pools;
  OddCalls odd, odd_back;
  MemoryErrors errors, errors_back;
  std::vector<Crash> crashes, crashes_back;
  std::vector<std::byte> payload;
  std::optional<Summary> summary;
  Symbols symbols;
  switch (static_cast<format::ChunkType>(data[0])) {
  case format::ChunkType::Meta: (void)parse_meta(input, meta); break;
  case format::ChunkType::Modules: (void)parse_modules(input, modules); break;
  case format::ChunkType::Threads: (void)parse_threads(input, threads); break;
  case format::ChunkType::Samples: (void)parse_samples(input, samples); break;
  case format::ChunkType::Marks: (void)parse_marks(input, marks); break;
  case format::ChunkType::Pools: (void)parse_pools(input, pools); break;
  case format::ChunkType::OddCalls:
    (void)parse_odd_calls(input, odd);
    put_odd_calls(odd, payload);
    HT_CHECK(parse_odd_calls(payload, odd_back) && odd_back == odd);
    break;
  case format::ChunkType::MemoryErrors:
    (void)parse_memory_errors(input, errors);
    put_memory_errors(errors, payload);
    HT_CHECK(parse_memory_errors(payload, errors_back) && errors_back == errors);
    break;
  case format::ChunkType::Crash:
    (void)parse_crashes(input, crashes);
    put_crashes(crashes, payload);
    HT_CHECK(parse_crashes(payload, crashes_back) && crashes_back == crashes);
    break;
  case format::ChunkType::Summary: HT_CHECK(parse_summary(input, summary) == summary.has_value()); break;
  case format::ChunkType::Symbols: check_symbols(input, symbols); break;
  case format::ChunkType::RunTimeCode: check_run_time_code(input, symbols); break;
  case format::ChunkType::Stacks: check_stacks(input); break;
  case format::ChunkType::Maps: check_maps(input); break;
  case format::ChunkType::Resident: check_residency(input); break;
  case format::ChunkType::Cpu: check_cpu(input); break;
  case format::ChunkType::Inherited: check_inherited(input); break;
  case format::ChunkType::Snapshot: check_snapshots(input); break;
  case format::ChunkType::Pages: check_pages(input); break;
  default: check_events(input);
  }
  return 0;
}
