#include "live/tape_follower.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/system_error.h"
#include "base/unique_fd.h"
#include "tape/chunk_scanner.h"
#include "tape/compression.h"
#include "tape/contents_codec.h"
#include "tape/event_decoder.h"
#include "tape/format.h"
#include "tape/tape_loader.h"

namespace heaptape {
namespace {

using format::ChunkType;

constexpr std::size_t kEventsAtOnce = 2048;

} // namespace

struct TapeFollower::State {
  UniqueFd fd;
  const std::vector<std::byte>* bytes = nullptr; // when there is no file
  Checksums checksums = Checksums::Verify;
  std::uint64_t offset = 0; // of the next block
  TapeHeader header;
  Meta meta;
  std::optional<Summary> summary;
  std::optional<Sample> sample;
  std::uint64_t time_us = 0;
  std::uint64_t damaged = 0;
  std::uint32_t stacks_known = 0;
  std::uint64_t last_number = 0;
  std::uint64_t left = 0; // events that this poll may still read

  EventDecoder decoder;
  Decompressor decompressor;
  std::vector<std::byte> stored, raw;
  std::vector<Event> events = std::vector<Event>(kEventsAtOnce);
  std::vector<StackNode> nodes = std::vector<StackNode>(1);

  std::uint64_t size() const {
    if (bytes != nullptr) return bytes->size();
    struct stat facts {};
    return ::fstat(fd.get(), &facts) == 0 ? static_cast<std::uint64_t>(facts.st_size) : 0;
  }
  // As many of the bytes as there are.
  std::span<const std::byte> read(std::uint64_t from, std::size_t count) {
    if (bytes != nullptr) {
      if (from >= bytes->size()) return {};
      return std::span(*bytes).subspan(static_cast<std::size_t>(from),
                                       std::min(count, bytes->size() - static_cast<std::size_t>(from)));
    }
    if (stored.size() < count) stored.resize(count);
    std::size_t done = 0;
    while (done < count) {
      const ssize_t got = ::pread(fd.get(), stored.data() + done, count - done, static_cast<off_t>(from + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    return std::span(stored).first(done);
  }

  Result<> read_header(const TapeSource& source, const std::string& name);
  void skip_damage();
  bool take_block(const format::ChunkHeader& block, std::span<const std::byte> payload, EventWatcher& watcher);
  bool take_stacks(std::span<const std::byte> payload, EventWatcher& watcher);
  bool take_events(std::span<const std::byte> payload, EventWatcher& watcher);
  void give(std::span<const Event> run, EventWatcher& watcher);
};

Result<> TapeFollower::State::read_header(const TapeSource& source, const std::string& name) {
  const Result<TapeHead> head = read_tape_head(source, name, checksums);
  if (!head) return head.error();
  header = head.value().header;
  offset = head.value().first_chunk;
  return Unit{};
}

// What a tape that is being written does not have: goes to where the next block may begin.
void TapeFollower::State::skip_damage() {
  std::array<std::byte, sizeof format::kSync> sync;
  std::memcpy(sync.data(), &format::kSync, sync.size());
  const auto chunk = read(offset + 1, std::size_t{64} << 10);
  const auto hit = std::search(chunk.begin(), chunk.end(), sync.begin(), sync.end());
  const auto passed = static_cast<std::uint64_t>(hit - chunk.begin());
  // A marker may lie across the end of the chunk.
  offset += 1 + (hit != chunk.end() ? passed : passed - std::min<std::uint64_t>(passed, sync.size() - 1));
  ++damaged;
}

bool TapeFollower::State::take_stacks(std::span<const std::byte> payload, EventWatcher& watcher) {
  if (!parse_stacks(payload, nodes)) return false;
  if (nodes.size() <= std::size_t{stacks_known} + 1) return true;
  watcher.on_stacks(StackId(stacks_known + 1), std::span(nodes).subspan(std::size_t{stacks_known} + 1));
  stacks_known = static_cast<std::uint32_t>(nodes.size() - 1);
  return true;
}

// Marks follow the events they belong to on the tape, so most arrive after those have passed; for a live view that is
// near enough.
void TapeFollower::State::give(std::span<const Event> run, EventWatcher& watcher) {
  watcher.on_events(run);
  last_number = run.back().number;
  time_us = std::max(time_us, run.back().time_us);
}

bool TapeFollower::State::take_events(std::span<const std::byte> payload, EventWatcher& watcher) {
  const auto head = parse_event_chunk_head(payload, checksums);
  if (!head || head->first_number <= last_number || !decoder.start(payload)) return false;
  while (true) {
    const std::span<Event> run = decoder.next(events);
    if (run.empty()) break;
    for (Event& event : run) {
      if (event.stack.value > stacks_known) event.stack = StackId(0); // its block was damaged
    }
    give(run, watcher);
  }
  left -= std::min<std::uint64_t>(left, head->count);
  return !decoder.failed();
}

bool TapeFollower::State::take_block(const format::ChunkHeader& block, std::span<const std::byte> payload,
                                     EventWatcher& watcher) {
  const auto type = static_cast<ChunkType>(block.type);
  if (block.flags != 0) return true; // of a newer heaptape
  if (type == ChunkType::Events)
    return block.codec == static_cast<std::uint8_t>(format::Codec::Raw) && take_events(payload, watcher);
  switch (type) {
  case ChunkType::Meta:
  case ChunkType::Modules:
  case ChunkType::Stacks:
  case ChunkType::Samples:
  case ChunkType::Marks:
  case ChunkType::Summary: break;
  default: return true; // not for us
  }
  const auto unpacked = unpack_payload(block, payload, decompressor, raw);
  if (!unpacked) return false;
  switch (type) {
  case ChunkType::Meta: return parse_meta(*unpacked, meta);
  case ChunkType::Stacks: return take_stacks(*unpacked, watcher);
  case ChunkType::Summary: return parse_summary(*unpacked, summary);
  case ChunkType::Modules: {
    std::vector<Module> modules;
    const bool good = parse_modules(*unpacked, modules);
    watcher.on_modules(modules);
    return good;
  }
  case ChunkType::Samples: {
    std::vector<Sample> samples;
    const bool good = parse_samples(*unpacked, samples);
    if (!samples.empty()) sample = samples.back();
    return good;
  }
  default: {
    std::vector<Mark> found;
    const bool good = parse_marks(*unpacked, found);
    for (const Mark& mark : found) watcher.on_mark(mark);
    return good;
  }
  }
}

TapeFollower::TapeFollower(std::unique_ptr<State> state) : state_(std::move(state)) {}
TapeFollower::TapeFollower(TapeFollower&&) noexcept = default;
TapeFollower& TapeFollower::operator=(TapeFollower&&) noexcept = default;
TapeFollower::~TapeFollower() = default;

Result<TapeFollower> TapeFollower::open(const std::string& path) {
  const Result<TapeSource> source = TapeSource::open(path);
  if (!source) return source.error();
  auto state = std::make_unique<State>();
  if (const Result<> read = state->read_header(source.value(), path); !read) return read.error();
  state->fd.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!state->fd) return Error{ErrorCode::Io, "cannot open the tape '" + path + "': " + system_message(errno)};
  return TapeFollower(std::move(state));
}

Result<TapeFollower> TapeFollower::from_bytes(const std::vector<std::byte>& bytes, Checksums checksums) {
  auto state = std::make_unique<State>();
  state->bytes = &bytes;
  state->checksums = checksums;
  state->decoder = EventDecoder(checksums);
  if (const Result<> read = state->read_header(TapeSource::from_bytes(bytes), "bytes"); !read) return read.error();
  return TapeFollower(std::move(state));
}

bool TapeFollower::poll(EventWatcher& watcher, std::uint64_t most_events) {
  State& state = *state_;
  state.left = most_events;
  bool more = false;
  const std::uint64_t end = state.size();
  while (end > state.offset) {
    const std::uint64_t there = end - state.offset;
    format::ChunkHeader block{};
    if (there < sizeof block) break;
    const auto parsed = parse_chunk_header(state.read(state.offset, sizeof block), state.checksums);
    if (!parsed) {
      state.skip_damage();
      continue;
    }
    block = *parsed;
    if (there < sizeof block + std::uint64_t{block.stored_bytes}) break; // still being written
    if (state.left == 0) {
      more = true;
      break;
    }
    const auto payload = state.read(state.offset + sizeof block, block.stored_bytes);
    if (payload.size() < block.stored_bytes) break;
    const bool whole = state.checksums == Checksums::Ignore || format::checksum(payload) == block.payload_checksum;
    if (!whole || !state.take_block(block, payload, watcher)) ++state.damaged;
    state.offset += sizeof block + block.stored_bytes;
  }
  if (state.summary) state.time_us = std::max(state.time_us, state.summary->duration_us);
  if (state.sample) state.time_us = std::max(state.time_us, state.sample->time_us);
  watcher.on_round(state.time_us);
  return more;
}

const TapeHeader& TapeFollower::header() const { return state_->header; }
const Meta& TapeFollower::meta() const { return state_->meta; }
const std::optional<Summary>& TapeFollower::summary() const { return state_->summary; }
std::uint64_t TapeFollower::time_us() const { return state_->time_us; }
std::uint64_t TapeFollower::bytes_read() const { return state_->offset; }
std::uint64_t TapeFollower::damaged_blocks() const { return state_->damaged; }
const std::optional<Sample>& TapeFollower::sample() const { return state_->sample; }

} // namespace heaptape
