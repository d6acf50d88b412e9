#include "collector/recording/recorded_contents.h"

#include <algorithm>
#include <utility>

#include "base/number_text.h"

namespace heaptape {

namespace {

constexpr std::size_t kMostTroubles = 10;

} // namespace

RecordedContents::RecordedContents(Parts parts, SnapshotTriggers triggers)
    : parts_(std::move(parts)), schedule_(std::move(triggers)) {}

Result<> RecordedContents::ask(SnapshotTaker::Request request) {
  if (!parts_.sink.has_tape()) return Error{ErrorCode::Unsupported, "there is no tape to put a snapshot on"};
  if (!desk_) desk_ = std::make_unique<SnapshotDesk>(parts_.pid, parts_.wake);
  if (!desk_->ask(std::move(request)))
    return Error{ErrorCode::Exhausted, "too many snapshots wait already; try again when they are done"};
  return Unit{};
}

SnapshotSchedule::Now RecordedContents::now() const {
  return {parts_.clock.plain_us(parts_.clock.now()), parts_.builder.events(),
          parts_.builder.model().totals().live_bytes};
}

// Marks of the program that have come since the last call.
void RecordedContents::look_at_marks() {
  const std::uint64_t made = parts_.builder.marks().made();
  const std::vector<Mark>& waiting = parts_.builder.marks().waiting();
  const std::uint64_t fresh = std::min<std::uint64_t>(made - marks_seen_, waiting.size());
  marks_seen_ = made;
  for (const Mark& mark : std::span(waiting).last(static_cast<std::size_t>(fresh))) {
    if (mark.kind != MarkKind::Snapshot && schedule_.wants_mark(mark.name)) (void)ask({.name = mark.name});
  }
}

void RecordedContents::serve() {
  look_at_marks();
  if (std::optional<std::string> name; !working() && (name = schedule_.due(now())))
    (void)ask({.name = std::move(*name)});
  if (!desk_) return;
  desk_->serve(*this);
  if (std::optional<SnapshotDesk::Ended> ended = desk_->take_ended()) end(std::move(*ended));
}

void RecordedContents::end(SnapshotDesk::Ended ended) {
  schedule_.taken(now());
  Result<std::string> text = std::string();
  if (ended.snapshot) {
    const MemorySnapshot& snapshot = ended.snapshot.value();
    parts_.flush(); // what it refers to
    const std::uint64_t before = parts_.sink.bytes_written();
    if (parts_.sink.try_write(0, [&](TapeWriter& writer) { return writer.add_snapshot(snapshot, desk_->names()); })) {
      const std::uint64_t bytes = bytes_ + parts_.sink.bytes_written() - before;
      text = "event " + with_separators(snapshot.event) + ", " + std::string(snapshot_method_name(snapshot.method)) +
             ", the program stood still for " + duration_text(snapshot.pause_us) + ", " +
             with_separators(snapshot.new_pages) + " new pages, " + bytes_text(bytes) + " on the tape";
    } else {
      desk_->refuse_last();
      text = Error{ErrorCode::Io, "the tape could not take the snapshot; it was dropped"};
    }
  } else {
    text = ended.snapshot.error();
  }
  bytes_ = 0;
  if (!text && troubles_.size() < kMostTroubles) {
    std::string sentence = "snapshot '" + printable(ended.name) + "' holds no memory: " + text.error().sentence;
    if (std::ranges::find(troubles_, sentence) == troubles_.end()) troubles_.push_back(std::move(sentence));
  }
  outcome_.emplace(Outcome{std::move(ended.name), std::move(text)});
}

void RecordedContents::drain_a_little() {
  parts_.clock.calibrate();
  parts_.clock.believe_until_now();
  (void)parts_.rings.round(parts_.clock, parts_.consumer());
}

// With all threads stopped, what is ready has happened and everything else has not: an allocation is published after the real call, a release
// before it.
SnapshotCut RecordedContents::cut() {
  parts_.clock.calibrate();
  parts_.clock.believe_until_now();
  while (parts_.rings.round_at_once(parts_.clock, parts_.consumer()).more) {}
  SnapshotCut cut{.event = parts_.builder.events(), .time_us = parts_.clock.to_us(parts_.clock.now())};
  for (const BegunCall& call : parts_.builder.begun().all()) {
    if (call.kind != EventKind::ReallocBegin || call.released || call.unknown || call.paused) continue;
    const auto thread = parts_.threads.live().find(call.thread);
    if (thread == parts_.threads.live().end()) continue;
    cut.moving.push_back({static_cast<pid_t>(thread->second.tid), call.address});
  }
  return cut;
}

// Before anything else happens on the tape.
void RecordedContents::moment_is_over(const std::string& name, const std::optional<SnapshotCut>& cut) {
  if (!cut) return;
  parts_.builder.marks().add_own(
      {.name = name, .event = cut->event, .time_us = cut->time_us, .kind = MarkKind::Snapshot});
}

bool RecordedContents::write_pages(std::vector<std::byte> payload) {
  const std::uint64_t before = parts_.sink.bytes_written();
  const bool written =
      parts_.sink.try_write(payload.size(), [&](TapeWriter& writer) { return writer.add_pages(payload); });
  bytes_ += parts_.sink.bytes_written() - before;
  return written;
}

} // namespace heaptape
