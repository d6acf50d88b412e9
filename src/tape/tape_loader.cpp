#include "tape/tape_loader.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>

#include "tape/chunk_scanner.h"
#include "tape/compression.h"
#include "tape/contents_codec.h"
#include "tape/cpu_codec.h"
#include "tape/crash_codec.h"
#include "tape/event_decoder.h"
#include "tape/format.h"
#include "tape/maps_codec.h"
#include "tape/memory_error_codec.h"
#include "tape/memory_snapshot_codec.h"
#include "tape/run_time_codec.h"
#include "tape/symbols_codec.h"

namespace heaptape {

namespace {

using format::ChunkType;

std::string version_text(unsigned major, unsigned minor) { return std::to_string(major) + "." + std::to_string(minor); }

Error not_a_tape(const std::string& name, const std::string& why) {
  return {ErrorCode::NotATape, "'" + name + "' " + why};
}

// Collects the chunks of one tape into a State.
class Loader {
public:
  Loader(LoadedTape& tape, ChunkScanner& scanner) : tape_(tape), scanner_(scanner) {}

  void add(const FoundChunk& chunk) {
    ChunkTypeSize& size = sizes_[chunk.header.type];
    ++size.chunks;
    size.bytes += sizeof chunk.header + chunk.header.stored_bytes;
    const auto type = static_cast<ChunkType>(chunk.header.type);
    // Parts that no INDEX follows are what a crash left of an index.
    if (type != ChunkType::IndexPart) tape_.append_offset = chunk.end();
    if (chunk.header.flags != 0 || !known(chunk.header)) {
      ++tape_.unknown_chunks;
      return;
    }
    const bool good = type == ChunkType::Events      ? add_events(chunk)
                      : type == ChunkType::Pages     ? add_pages(chunk)
                      : type == ChunkType::IndexPart ? true
                                                     : add_contents(chunk);
    if (!good)
      tape_.damage.push_back({chunk.offset, chunk.end() - chunk.offset,
                              format::chunk_type_name(chunk.header.type) + " chunk makes no sense"});
  }

  void finish() {
    if (tape_.header.damaged) tape_.header.pid = pid_of_meta();
    tape_.events_fingerprint = format::checksum(std::as_bytes(std::span(fingerprints_)));
    // Only a torn tail may be cut off. Whatever else cannot be read, stays.
    for (const Damage& damage : scanner_.damage()) {
      if (damage.offset >= tape_.append_offset && damage.reason != "cut off") tape_.append_offset = tape_.source.size();
    }
    for (CpuSample& sample : tape_.cpu.samples) {
      if (sample.stack.value >= tape_.stacks.size()) sample.stack = StackId();
    }
    for (OddCall& call : tape_.odd_calls.calls) {
      if (call.stack.value >= tape_.stacks.size()) call.stack = StackId();
    }
    for (MemoryError& error : tape_.memory_errors.errors) {
      if (error.stack.value >= tape_.stacks.size()) error.stack = StackId();
    }
    for (Crash& crash : tape_.crashes) {
      if (crash.stack.value >= tape_.stacks.size()) crash.stack = StackId();
    }
    forget_inherited_releases(tape_);
    std::stable_sort(tape_.odd_calls.calls.begin(), tape_.odd_calls.calls.end(),
                     [](const OddCall& a, const OddCall& b) { return a.event < b.event; });
    std::stable_sort(tape_.memory_errors.errors.begin(), tape_.memory_errors.errors.end(),
                     [](const MemoryError& a, const MemoryError& b) { return a.event < b.event; });
    for (auto& [id, thread] : threads_) tape_.threads.push_back(std::move(thread));
    for (auto& [number, pool] : pools_) tape_.pools.push_back(std::move(pool));
    for (auto& [type, size] : sizes_) {
      size.name = format::chunk_type_name(type);
      tape_.chunk_sizes.push_back(size);
    }
    const auto& skipped = scanner_.damage();
    tape_.damage.insert(tape_.damage.end(), skipped.begin(), skipped.end());
    std::stable_sort(tape_.damage.begin(), tape_.damage.end(),
                     [](const Damage& a, const Damage& b) { return a.offset < b.offset; });
  }

private:
  static bool known(const format::ChunkHeader& header) {
    if (header.codec > static_cast<std::uint8_t>(format::Codec::Zstd)) return false;
    switch (static_cast<ChunkType>(header.type)) {
    case ChunkType::Meta:
    case ChunkType::Modules:
    case ChunkType::Stacks:
    case ChunkType::Threads:
    case ChunkType::Events:
    case ChunkType::Samples:
    case ChunkType::Marks:
    case ChunkType::Pools:
    case ChunkType::OddCalls:
    case ChunkType::MemoryErrors:
    case ChunkType::Crash:
    case ChunkType::Inherited:
    case ChunkType::Maps:
    case ChunkType::Resident:
    case ChunkType::Snapshot:
    case ChunkType::Pages:
    case ChunkType::Cpu:
    case ChunkType::Symbols:
    case ChunkType::RunTimeCode:
    case ChunkType::Summary:
    case ChunkType::Index:
    case ChunkType::IndexPart: return true;
    default: return false;
    }
  }

  std::uint32_t pid_of_meta() const {
    const auto text = tape_.meta.find("pid");
    std::uint32_t pid = 0;
    if (text != tape_.meta.end()) std::from_chars(text->second.data(), text->second.data() + text->second.size(), pid);
    return pid;
  }

  bool add_events(const FoundChunk& chunk) {
    if (chunk.header.codec != static_cast<std::uint8_t>(format::Codec::Raw)) return false;
    const std::size_t size = std::min<std::size_t>(chunk.header.stored_bytes, sizeof(format::EventChunkHead));
    const auto head = parse_event_chunk_head(tape_.source.read(chunk.payload_offset(), size, small_), tape_.checksums);
    if (!head) return false;
    // Searching needs them in order.
    if (!tape_.event_chunks.empty()) {
      const EventChunkInfo& before = tape_.event_chunks.back();
      if (head->first_number < before.first_number + before.count || head->first_us < before.last_us) return false;
    }
    tape_.event_chunks.push_back(
        {chunk.offset, chunk.end() - chunk.offset, head->first_number, head->count, head->first_us, head->last_us});
    tape_.event_count += head->count;
    fingerprints_.insert(fingerprints_.end(), {chunk.offset, chunk.header.payload_checksum});
    return true;
  }

  // Pages are read when somebody asks for them.
  bool add_pages(const FoundChunk& chunk) {
    if (chunk.header.codec != static_cast<std::uint8_t>(format::Codec::Raw)) return false;
    const std::size_t size = std::min<std::size_t>(chunk.header.stored_bytes, sizeof(PagesHead));
    const auto head = parse_pages_head(tape_.source.read(chunk.payload_offset(), size, small_), tape_.checksums);
    if (!head) return false;
    // Searching needs them in order.
    if (!tape_.pages_chunks.empty()) {
      const PagesChunk& before = tape_.pages_chunks.back();
      if (head->first < before.first + before.count) return false;
    }
    tape_.pages_chunks.push_back({chunk.offset, chunk.end() - chunk.offset, head->first, head->count});
    return true;
  }

  bool add_contents(const FoundChunk& chunk) {
    const auto unpacked = unpack_payload(chunk.header, scanner_.payload(chunk), decompressor_, raw_);
    if (!unpacked) return false;
    const std::span<const std::byte> raw = *unpacked;
    switch (static_cast<ChunkType>(chunk.header.type)) {
    case ChunkType::Meta: return parse_meta(raw, tape_.meta);
    case ChunkType::Modules: return parse_modules(raw, tape_.modules);
    case ChunkType::Stacks: return parse_stacks(raw, tape_.stacks);
    case ChunkType::Threads: return parse_threads(raw, threads_);
    case ChunkType::Samples: return parse_samples(raw, tape_.samples);
    case ChunkType::Marks: return parse_marks(raw, tape_.marks);
    case ChunkType::Pools: return parse_pools(raw, pools_);
    case ChunkType::OddCalls: return parse_odd_calls(raw, tape_.odd_calls);
    case ChunkType::MemoryErrors: return parse_memory_errors(raw, tape_.memory_errors);
    case ChunkType::Crash: return parse_crashes(raw, tape_.crashes);
    case ChunkType::Inherited: return add_inherited(chunk.offset, raw);
    case ChunkType::Maps: return parse_maps(raw, tape_.maps);
    case ChunkType::Resident: return parse_residency(raw, tape_.resident);
    case ChunkType::Snapshot: return snapshot_parser_.add(raw, tape_.snapshots);
    case ChunkType::Cpu: return parse_cpu(raw, tape_.cpu);
    case ChunkType::Symbols: return parse_symbols(raw, tape_.symbols);
    case ChunkType::RunTimeCode: return parse_run_time_code(raw, tape_.symbols);
    case ChunkType::Summary: return parse_summary(raw, tape_.summary);
    case ChunkType::Index: tape_.index.assign(raw.begin(), raw.end()); return true;
    default: return false;
    }
  }

  // There may be millions of blocks; they are read when somebody asks for them.
  bool add_inherited(std::uint64_t offset, std::span<const std::byte> raw) {
    std::optional<InheritedExtent> extent;
    if (!parse_inherited(raw, {tape_.forks, tape_.inheritance, tape_.inherited_releases}, extent)) return false;
    if (extent) tape_.inherited_chunks.push_back({offset, *extent});
    return true;
  }

  LoadedTape& tape_;
  ChunkScanner& scanner_;
  Decompressor decompressor_;
  std::vector<std::byte> small_;
  std::vector<std::byte> raw_;
  std::vector<std::uint64_t> fingerprints_; // offset and checksum of each EVENTS chunk
  std::map<ThreadId, Thread> threads_;
  std::map<std::uint32_t, Pool> pools_;
  SnapshotParser snapshot_parser_;
  std::map<std::uint8_t, ChunkTypeSize> sizes_;
};

} // namespace

Result<TapeHead> read_tape_head(const TapeSource& source, const std::string& name, Checksums checksums) {
  std::vector<std::byte> buffer;
  const auto bytes = source.read(0, format::kMaxFileHeaderBytes, buffer);
  if (source.size() == 0)
    return not_a_tape(name, "is empty: the recording never started, or it is not a tape; record again");
  format::FileHeader header{};
  std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof header));
  const bool magic = std::memcmp(header.magic, format::kMagic, std::min(bytes.size(), sizeof header.magic)) == 0;
  if (bytes.size() < sizeof header) {
    if (!magic) return not_a_tape(name, "is not a heaptape tape; give a file that heaptape record made");
    return not_a_tape(name, "ends inside its header, so it holds nothing; record again");
  }
  const bool sensible = magic && header.header_bytes >= sizeof header &&
                        header.header_bytes <= std::min<std::uint64_t>(bytes.size(), format::kMaxFileHeaderBytes);
  bool holds = sensible && checksums == Checksums::Ignore;
  if (sensible && !holds) {
    std::uint64_t stored = 0;
    const auto covered = bytes.first(header.header_bytes - sizeof stored);
    std::memcpy(&stored, covered.data() + covered.size(), sizeof stored);
    holds = stored == format::checksum(covered);
  }
  if (!holds) {
    if (!parse_chunk_header(bytes.subspan(sizeof header), checksums))
      return magic ? not_a_tape(name, "has a damaged header and no chunk after it; nothing in it can be read")
                   : not_a_tape(name, "is not a heaptape tape; give a file that heaptape record made");
    return TapeHead{.first_chunk = sizeof header, .damaged = true};
  }
  if (header.major != format::kMajor)
    return Error{ErrorCode::BadVersion,
                 "'" + name + "' is a tape of format version " + version_text(header.major, header.minor) +
                     ", but this heaptape reads version " + version_text(format::kMajor, format::kMinor) + "; use " +
                     (header.major > format::kMajor ? "a newer heaptape" : "the older heaptape that recorded it")};
  return TapeHead{.header = {header.major, header.minor, header.start_realtime_ns, header.pid},
                  .first_chunk = header.header_bytes};
}

void forget_inherited_releases(LoadedTape& tape) {
  std::erase_if(tape.odd_calls.calls, [&](const OddCall& call) {
    const std::vector<std::uint64_t>& released = tape.inherited_releases;
    return call.kind == OddKind::NotLive && std::binary_search(released.begin(), released.end(), call.event);
  });
}

Result<LoadedTape> load_tape(TapeSource source, const std::string& name, Checksums checksums) {
  LoadedTape tape{.source = std::move(source), .checksums = checksums};
  const Result<TapeHead> head = read_tape_head(tape.source, name, checksums);
  if (!head) return head.error();
  tape.header = head.value().header;
  tape.header.damaged = head.value().damaged;
  if (head.value().damaged) tape.damage.push_back({0, head.value().first_chunk, "file header: checksum differs"});
  tape.append_offset = head.value().first_chunk;
  ChunkScanner scanner(tape.source, head.value().first_chunk, checksums);
  Loader loader(tape, scanner);
  while (const auto chunk = scanner.next()) loader.add(*chunk);
  loader.finish();
  return tape;
}

} // namespace heaptape
