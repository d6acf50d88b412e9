#include "tape/reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tape/chunk_scanner.h"
#include "tape/event_decoder.h"
#include "tape/memory_snapshot_codec.h"
#include "tape/tape_loader.h"

namespace heaptape {

struct TapeReader::State {
  LoadedTape tape;
};

TapeReader::TapeReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
TapeReader::TapeReader(TapeReader&&) noexcept = default;
TapeReader& TapeReader::operator=(TapeReader&&) noexcept = default;
TapeReader::~TapeReader() = default;

Result<TapeReader> TapeReader::of_source(Result<TapeSource> source, const std::string& path) {
  if (!source) return source.error();
  auto tape = load_tape(std::move(source).value(), path, Checksums::Verify);
  if (!tape) return tape.error();
  return TapeReader(std::make_unique<State>(State{std::move(tape).value()}));
}

Result<TapeReader> TapeReader::open(const std::string& path) { return of_source(TapeSource::open(path), path); }

Result<TapeReader> TapeReader::adopt(UniqueFd fd, const std::string& path) {
  return of_source(TapeSource::adopt(std::move(fd), path), path);
}

Result<TapeReader> TapeReader::from_bytes(std::span<const std::byte> file, std::string name, Checksums checksums) {
  auto tape = load_tape(TapeSource::from_bytes(file), name, checksums);
  if (!tape) return tape.error();
  return TapeReader(std::make_unique<State>(State{std::move(tape).value()}));
}

const TapeHeader& TapeReader::header() const { return state_->tape.header; }
const Meta& TapeReader::meta() const { return state_->tape.meta; }
const std::vector<Module>& TapeReader::modules() const { return state_->tape.modules; }
const std::vector<Thread>& TapeReader::threads() const { return state_->tape.threads; }
const std::vector<StackNode>& TapeReader::stacks() const { return state_->tape.stacks; }
const std::vector<Sample>& TapeReader::samples() const { return state_->tape.samples; }
const std::vector<Mark>& TapeReader::marks() const { return state_->tape.marks; }
const OddCalls& TapeReader::odd_calls() const { return state_->tape.odd_calls; }
const MemoryErrors& TapeReader::memory_errors() const { return state_->tape.memory_errors; }
const std::vector<Crash>& TapeReader::crashes() const { return state_->tape.crashes; }
const Crash* TapeReader::crash() const { return deadly_crash(state_->tape.crashes, state_->tape.summary); }
const std::vector<Pool>& TapeReader::pools() const { return state_->tape.pools; }
const Maps& TapeReader::maps() const { return state_->tape.maps; }
const ResidentFacts& TapeReader::resident() const { return state_->tape.resident; }
const Snapshots& TapeReader::snapshots() const { return state_->tape.snapshots; }
const std::vector<PagesChunk>& TapeReader::pages_chunks() const { return state_->tape.pages_chunks; }
const CpuProfile& TapeReader::cpu() const { return state_->tape.cpu; }
const std::vector<ForkMade>& TapeReader::forks() const { return state_->tape.forks; }
const std::optional<Inheritance>& TapeReader::inheritance() const { return state_->tape.inheritance; }
const std::optional<Summary>& TapeReader::summary() const { return state_->tape.summary; }
const Symbols& TapeReader::symbols() const { return state_->tape.symbols; }
const std::vector<Damage>& TapeReader::damage() const { return state_->tape.damage; }
const std::vector<ChunkTypeSize>& TapeReader::chunk_sizes() const { return state_->tape.chunk_sizes; }
const std::vector<EventChunkInfo>& TapeReader::event_chunks() const { return state_->tape.event_chunks; }
std::uint64_t TapeReader::file_bytes() const { return state_->tape.source.size(); }
std::uint64_t TapeReader::event_count() const { return state_->tape.event_count; }
std::uint64_t TapeReader::unknown_chunks() const { return state_->tape.unknown_chunks; }

std::uint64_t TapeReader::events_fingerprint() const { return state_->tape.events_fingerprint; }
const std::vector<std::byte>& TapeReader::index() const { return state_->tape.index; }
std::uint64_t TapeReader::append_offset() const { return state_->tape.append_offset; }

std::vector<Damage> TapeReader::check_event_chunks(std::uint64_t most) const {
  const LoadedTape& tape = state_->tape;
  std::vector<Damage> found;
  std::vector<std::byte> buffer;
  std::uint64_t passed = 0, checked = 0; // bytes
  const double share =
      tape.source.size() <= most ? 1 : static_cast<double>(most) / static_cast<double>(tape.source.size());
  const auto check = [&](std::uint64_t offset, std::uint64_t bytes, const char* reason) {
    passed += bytes;
    if (static_cast<double>(checked) > share * static_cast<double>(passed)) return;
    checked += bytes;
    const auto header =
        parse_chunk_header(tape.source.read(offset, sizeof(format::ChunkHeader), buffer), tape.checksums);
    const auto payload = header ? tape.source.read(offset + sizeof(format::ChunkHeader), header->stored_bytes, buffer)
                                : std::span<const std::byte>();
    const bool holds = header && payload.size() == header->stored_bytes &&
                       (tape.checksums == Checksums::Ignore || format::checksum(payload) == header->payload_checksum);
    if (!holds) found.push_back({offset, bytes, reason});
  };
  for (const EventChunkInfo& chunk : tape.event_chunks) check(chunk.offset, chunk.bytes, "checksum differs");
  for (const PagesChunk& chunk : tape.pages_chunks)
    check(chunk.offset, chunk.bytes, "checksum of pages of snapshots differs");
  return found;
}

std::optional<std::vector<std::byte>> TapeReader::read_payload(std::uint64_t offset, format::ChunkType type) const {
  const LoadedTape& tape = state_->tape;
  std::vector<std::byte> buffer;
  const auto header = parse_chunk_header(tape.source.read(offset, sizeof(format::ChunkHeader), buffer), tape.checksums);
  if (!header || header->type != static_cast<std::uint8_t>(type) || header->flags != 0) return std::nullopt;
  const auto stored = tape.source.read(offset + sizeof(format::ChunkHeader), header->stored_bytes, buffer);
  if (stored.size() != header->stored_bytes ||
      (tape.checksums == Checksums::Verify && format::checksum(stored) != header->payload_checksum))
    return std::nullopt;
  Decompressor decompressor;
  std::vector<std::byte> raw;
  const auto payload = unpack_payload(*header, stored, decompressor, raw);
  if (!payload) return std::nullopt;
  return std::vector<std::byte>(payload->begin(), payload->end());
}

std::optional<std::vector<std::byte>> TapeReader::read_index_part(std::uint64_t offset) const {
  return read_payload(offset, format::ChunkType::IndexPart);
}

std::optional<std::vector<std::byte>> TapeReader::read_pages(const PagesChunk& chunk) const {
  const auto payload = read_payload(chunk.offset, format::ChunkType::Pages);
  return payload ? parse_pages(*payload, state_->tape.checksums) : std::nullopt;
}

void TapeReader::inherit(std::span<const StackNode> stacks, Inheritance figures, std::vector<InheritedBlock> blocks,
                         std::vector<std::uint64_t> releases) {
  LoadedTape& tape = state_->tape;
  tape.stacks.insert(tape.stacks.end(), stacks.begin(), stacks.end());
  tape.inheritance = std::move(figures);
  tape.inherited_here = std::move(blocks);
  tape.inherited_releases = std::move(releases);
  forget_inherited_releases(tape);
}

std::vector<InheritedBlock> TapeReader::inherited_blocks(std::uint64_t begin, std::uint64_t end) const {
  std::vector<InheritedBlock> blocks, some;
  if (!inheritance()) return blocks;
  const auto keep = [&](InheritedBlock block) {
    const std::uint64_t bytes = std::max<std::uint64_t>(block.size, 1);
    if (block.address >= end || (block.address < begin && begin - block.address >= bytes)) return;
    if (block.stack.value >= stacks().size()) block.stack = StackId();
    blocks.push_back(block);
  };
  for (const LoadedTape::InheritedChunk& chunk : state_->tape.inherited_chunks) {
    if (chunk.extent.end <= begin || chunk.extent.begin >= end) continue;
    const auto payload = read_payload(chunk.offset, format::ChunkType::Inherited);
    some.clear();
    if (payload) (void)parse_inherited_blocks(*payload, some);
    for (const InheritedBlock& block : some) keep(block);
  }
  for (const InheritedBlock& block : state_->tape.inherited_here) keep(block);
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const InheritedBlock& a, const InheritedBlock& b) { return a.address < b.address; });
  return blocks;
}

namespace {
constexpr std::size_t kRun = 512; // events decoded at a time; they stay in the cache until they are used
}

struct EventCursor::State {
  const LoadedTape& tape;
  std::size_t next_chunk = 0;
  std::size_t end_chunk = 0;
  std::uint64_t first_number = 0; // events before these are passed over
  std::uint64_t first_us = 0;
  EventDecoder decoder;
  bool decoding = false;
  std::uint64_t unknown_stacks = 0;
  std::vector<Damage> damage; // one per skipped chunk
  std::vector<std::byte> buffer;
  std::array<Event, kRun> run;

  State(const LoadedTape& loaded, std::size_t chunk, std::uint64_t number, std::uint64_t time_us)
      : tape(loaded), next_chunk(chunk), end_chunk(loaded.event_chunks.size()), first_number(number), first_us(time_us),
        decoder(loaded.checksums) {}

  const EventChunkInfo& block() const { return tape.event_chunks[next_chunk - 1]; }

  void skip(const char* why) { damage.push_back({block().offset, block().bytes, why}); }

  // Begins to decode the next chunk that can be; false when there is none.
  bool open_chunk() {
    while (next_chunk < end_chunk) {
      ++next_chunk;
      const auto header =
          parse_chunk_header(tape.source.read(block().offset, sizeof(format::ChunkHeader), buffer), tape.checksums);
      if (!header) {
        skip("changed since the tape was opened");
        continue;
      }
      const auto payload = tape.source.read(block().offset + sizeof(format::ChunkHeader), header->stored_bytes, buffer);
      if (payload.size() != header->stored_bytes ||
          (tape.checksums == Checksums::Verify && format::checksum(payload) != header->payload_checksum)) {
        skip("checksum differs");
        continue;
      }
      if (!decoder.start(payload)) {
        skip("EVENTS chunk makes no sense");
        continue;
      }
      return true;
    }
    return false;
  }
};

EventCursor::EventCursor(std::unique_ptr<State> state) : state_(std::move(state)) {}
EventCursor::EventCursor(EventCursor&&) noexcept = default;
EventCursor& EventCursor::operator=(EventCursor&&) noexcept = default;
EventCursor::~EventCursor() = default;

// The next events that are wanted, at the front of `room` or somewhere in it; empty at the end.
std::span<const Event> EventCursor::decode(std::span<Event> room) {
  State& s = *state_;
  for (;;) {
    if (!s.decoding && !(s.decoding = s.open_chunk())) return {};
    auto events = s.decoder.next(room);
    if (events.empty()) {
      if (s.decoder.failed()) s.skip("EVENTS chunk makes no sense");
      s.decoding = false;
      continue;
    }
    const auto wanted = std::find_if(events.begin(), events.end(), [&](const Event& event) {
      return event.number >= s.first_number && event.time_us >= s.first_us;
    });
    events = events.subspan(static_cast<std::size_t>(wanted - events.begin()));
    if (events.empty()) continue;
    const std::size_t known = s.tape.stacks.size();
    for (Event& event : events) {
      if (event.stack.value < known) [[likely]]
        continue;
      event.stack = StackId();
      ++s.unknown_stacks;
    }
    return events;
  }
}

bool EventCursor::refill() {
  const auto events = decode(state_->run);
  at_ = events.data();
  end_ = at_ + events.size();
  return !events.empty();
}

std::span<const Event> EventCursor::next_run(std::span<Event> room) { return at_ == end_ ? decode(room) : next_run(); }

void EventCursor::read_chunk(std::size_t chunk) {
  State& s = *state_;
  s.next_chunk = std::min(chunk, s.tape.event_chunks.size());
  s.end_chunk = std::min(chunk + 1, s.tape.event_chunks.size());
  s.decoding = false;
  s.damage.clear();
  s.unknown_stacks = 0;
  at_ = end_ = nullptr;
}

std::uint64_t EventCursor::skipped_chunks() const { return state_->damage.size(); }
const std::vector<Damage>& EventCursor::damage() const { return state_->damage; }
std::uint64_t EventCursor::unknown_stacks() const { return state_->unknown_stacks; }

EventCursor TapeReader::events(std::uint64_t first) const {
  const LoadedTape& tape = state_->tape;
  const auto chunk = std::partition_point(tape.event_chunks.begin(), tape.event_chunks.end(),
                                          [&](const auto& info) { return info.first_number + info.count <= first; });
  return EventCursor(std::make_unique<EventCursor::State>(
      tape, static_cast<std::size_t>(chunk - tape.event_chunks.begin()), first, 0));
}

EventCursor TapeReader::events_from_time(std::uint64_t time_us) const {
  const LoadedTape& tape = state_->tape;
  const auto chunk = std::partition_point(tape.event_chunks.begin(), tape.event_chunks.end(),
                                          [&](const auto& info) { return info.last_us < time_us; });
  return EventCursor(std::make_unique<EventCursor::State>(
      tape, static_cast<std::size_t>(chunk - tape.event_chunks.begin()), 0, time_us));
}

} // namespace heaptape
