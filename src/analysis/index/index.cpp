#include "analysis/index/index.h"

#include <algorithm>

#include "analysis/index/index_codec.h"
#include "analysis/index/keyframe.h"
#include "analysis/index/replay.h"
#include "analysis/index/timeline_builder.h"
#include "tape/appender.h"
#include "tape/read_ahead.h"

namespace heaptape {

namespace {

using format::ChunkType;

constexpr std::uint64_t kFirstGuess = 8; // bytes of a keyframe per live block
constexpr std::uint64_t kMemoryBudget = std::uint64_t{64} << 20;
constexpr std::uint64_t kProgressEvery = std::uint64_t{1} << 18; // events

// Where the keyframes of a pass go.
class KeyframeKeeper {
public:
  virtual ~KeyframeKeeper() = default;
  virtual Result<> add(Keyframe keyframe, const HeapState& state) = 0;
  // Bytes that the last one took.
  std::uint64_t last_bytes() const { return last_bytes_; }
  // How many times farther apart they should be.
  virtual std::uint64_t sparser() const { return 1; }

protected:
  std::uint64_t last_bytes_ = 0;
};

class KeyframesOnTape final : public KeyframeKeeper {
public:
  KeyframesOnTape(TapeAppender& tape, std::vector<Keyframe>& keyframes) : tape_(tape), keyframes_(keyframes) {}

  Result<> add(Keyframe keyframe, const HeapState& state) override {
    last_bytes_ = 0;
    auto put = KeyframeCodec::put(state, [&](std::span<const std::byte> payload) -> Result<> {
      const auto offset = tape_.add(ChunkType::IndexPart, payload);
      if (!offset) return offset.error();
      keyframe.parts.push_back(offset.value());
      last_bytes_ += tape_.end_offset() - offset.value();
      return Unit{};
    });
    if (put) keyframes_.push_back(std::move(keyframe));
    return put;
  }

private:
  TapeAppender& tape_;
  std::vector<Keyframe>& keyframes_;
};

// When they take too much, every other one goes.
class KeyframesInMemory final : public KeyframeKeeper {
public:
  explicit KeyframesInMemory(std::vector<Keyframe>& keyframes) : keyframes_(keyframes) {}

  Result<> add(Keyframe keyframe, const HeapState& state) override {
    auto put = KeyframeCodec::put(state, [&](std::span<const std::byte> payload) -> Result<> {
      keyframe.in_memory.emplace_back(payload.begin(), payload.end());
      return Unit{};
    });
    last_bytes_ = bytes_of(keyframe);
    bytes_ += last_bytes_;
    keyframes_.push_back(std::move(keyframe));
    if (bytes_ > kMemoryBudget) thin_out();
    return put;
  }
  std::uint64_t sparser() const override { return sparser_; }

private:
  static std::uint64_t bytes_of(const Keyframe& keyframe) {
    std::uint64_t bytes = 0;
    for (const auto& part : keyframe.in_memory) bytes += part.size();
    return bytes;
  }
  void thin_out() {
    std::vector<Keyframe> kept;
    bytes_ = 0;
    for (std::size_t i = 1; i < keyframes_.size(); i += 2) {
      bytes_ += bytes_of(keyframes_[i]);
      kept.push_back(std::move(keyframes_[i]));
    }
    keyframes_ = std::move(kept);
    sparser_ *= 2;
  }

  std::vector<Keyframe>& keyframes_;
  std::uint64_t bytes_ = 0;
  std::uint64_t sparser_ = 1;
};

// Decides at the end of each chunk of events whether a keyframe is due: there a cursor can start without decoding in vain.
class KeyframeClock {
public:
  KeyframeClock(const TapeReader& tape, const KeyframeKeeper& keeper, const MakeIndex& options)
      : blocks_(tape.event_chunks()), keeper_(keeper), options_(options) {}

  // The replay has come to this state.
  void advance(const HeapState& state) {
    while (next_ < blocks_.size() && blocks_[next_].last_number() < state.event())
      tape_bytes_ += blocks_[next_++].bytes;
  }

  bool is_due(const HeapState& state) const {
    if (next_ + 1 >= blocks_.size() || blocks_[next_].last_number() != state.event()) return false;
    const std::uint64_t events = state.event() - last_event_;
    if (events < options_.events_apart * keeper_.sparser()) return false;
    const std::uint64_t per_block =
        last_blocks_ == 0 ? kFirstGuess : std::max<std::uint64_t>(1, keeper_.last_bytes() / last_blocks_);
    const std::uint64_t live = state.blocks().size();
    if (tape_bytes_ - last_tape_bytes_ < options_.sizes_apart * per_block * live &&
        events < std::max(4 * options_.events_apart * keeper_.sparser(), 8 * live))
      return false;
    return true;
  }

  // There is a keyframe of this state: the next one is measured from here.
  void start_over(const HeapState& state) {
    last_event_ = state.event();
    last_blocks_ = state.blocks().size();
    last_tape_bytes_ = tape_bytes_;
  }

private:
  const std::vector<EventChunkInfo>& blocks_;
  const KeyframeKeeper& keeper_;
  const MakeIndex& options_;
  std::size_t next_ = 0; // block that is being read
  std::uint64_t tape_bytes_ = 0;
  std::uint64_t last_event_ = 0, last_blocks_ = 0, last_tape_bytes_ = 0; // at the last keyframe
};

Result<Findings> replay_tape(const TapeReader& tape, const MakeIndex& options, KeyframeKeeper& keeper) {
  Replay replay(options_for(tape));
  const HeapState& state = replay.state();
  KeyframeClock clock(tape, keeper, options);
  ReadAhead events(tape.events());
  std::uint64_t next_progress = kProgressEvery;
  for (auto run = events.next_run(); !run.empty(); run = events.next_run()) {
    replay.apply(run);
    clock.advance(state);
    if (clock.is_due(state)) {
      clock.start_over(state);
      if (auto added = keeper.add({state.event(), state.time_us()}, state); !added) return added.error();
    }
    if (options.progress && state.totals().events >= next_progress) {
      options.progress(state.totals().events, tape.event_count());
      next_progress = state.totals().events + kProgressEvery;
    }
  }
  if (options.progress) options.progress(tape.event_count(), tape.event_count());
  Findings findings = replay.finish();
  findings.unread_events = tape.event_count() - findings.totals.events;
  findings.unknown_stacks = events.cursor().unknown_stacks();
  join_samples(findings.timeline, tape.samples());
  return findings;
}

template <class Rows, class StackOf>
bool all_known(const Rows& rows, const TapeReader& tape, StackOf stack_of) {
  return std::all_of(rows.begin(), rows.end(),
                     [&](const auto& row) { return stack_of(row).value < tape.stacks().size(); });
}

bool stacks_are_known(const Findings& findings, const TapeReader& tape) {
  return all_known(findings.by_stack, tape, [](const StackFigures& row) { return row.stack; }) &&
         all_known(findings.mappings.by_stack, tape, [](const StackMappings& row) { return row.stack; }) &&
         all_known(findings.growth.stacks, tape, [](const StackGrowth& row) { return row.stack; }) &&
         (!findings.total_peak ||
          (all_known(findings.total_peak->blocks, tape, [](const OwnerShare& row) { return row.owner.stack; }) &&
           all_known(findings.total_peak->mappings, tape, [](const StackShare& row) { return row.stack; })));
}

} // namespace

FoundIndex load_index(const TapeReader& tape) {
  if (tape.index().empty()) return {};
  IndexHead head;
  if (!parse_index_head(tape.index(), head)) return {IndexState::Damaged, {}};
  if (head.events != tape.event_count() || head.fingerprint != tape.events_fingerprint() ||
      head.stacks != tape.stacks().size())
    return {IndexState::Stale, {}};
  FindingsParser parser;
  for (const std::uint64_t offset : head.figures) {
    const auto part = tape.read_index_part(offset);
    if (!part || !parser.add(*part)) return {IndexState::Damaged, {}};
  }
  FoundIndex found{IndexState::Good, {}};
  Findings& findings = found.index.findings;
  if (!parser.finish(findings) || !stacks_are_known(findings, tape)) return {IndexState::Damaged, {}};
  join_samples(findings.timeline, tape.samples());
  found.index.keyframes = std::move(head.keyframes);
  return found;
}

Index build_index(const TapeReader& tape, const MakeIndex& options) {
  Index index;
  KeyframesInMemory keyframes(index.keyframes);
  index.findings = replay_tape(tape, options, keyframes).value(); // memory does not fail
  return index;
}

Result<> append_index(const TapeToFinish& what, const MakeIndex& options) {
  auto opened = TapeAppender::open(what);
  if (!opened) return opened.error();
  TapeAppender& appender = opened.value();
  const TapeReader& tape = appender.tape();
  const auto append = [&]() -> Result<> {
    IndexHead head{tape.event_count(), tape.events_fingerprint(), tape.stacks().size(), {}, {}};
    KeyframesOnTape keyframes(appender, head.keyframes);
    const auto findings = replay_tape(tape, options, keyframes);
    if (!findings) return findings.error();
    auto put = put_findings(findings.value(), [&](std::span<const std::byte> payload) -> Result<> {
      const auto offset = appender.add(ChunkType::IndexPart, payload);
      if (!offset) return offset.error();
      head.figures.push_back(offset.value());
      return Unit{};
    });
    if (!put) return put;
    std::vector<std::byte> payload;
    put_index_head(head, payload);
    if (const auto added = appender.add(ChunkType::Index, payload); !added) return added.error();
    return Unit{};
  };
  auto appended = append();
  if (!appended) appender.undo();
  return appended;
}

Result<IndexedTape> open_indexed_tape(const std::string& path, const OpenIndexed& options) {
  auto tape = TapeReader::open(path);
  if (!tape) return tape.error();
  return with_index(std::move(tape).value(), path, options);
}

Result<IndexedTape> with_index(TapeReader tape, const std::string& path, const OpenIndexed& options) {
  FoundIndex found = load_index(tape);
  const IndexState before = found.state;
  if (before != IndexState::Good && options.append && append_index(path, options.make)) {
    auto longer = TapeReader::open(path);
    if (!longer) return longer.error();
    tape = std::move(longer).value();
    found = load_index(tape);
  }
  const bool on_tape = found.state == IndexState::Good;
  Index index = on_tape ? std::move(found.index) : build_index(tape, options.make);
  return IndexedTape{std::move(tape), std::move(index), before, on_tape};
}

} // namespace heaptape
