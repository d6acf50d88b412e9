#include "collector/recording/recorded_contents.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/number_text.h"
#include "base/signal_name.h"

namespace heaptape {

namespace {

constexpr std::size_t kMostTroubles = 10;
constexpr std::uint64_t kShareOfRoom = 2; // so that a snapshot does not end the recording

} // namespace

RecordedContents::RecordedContents(Parts parts, SnapshotTriggers triggers, SnapshotBounds bounds)
    : parts_(std::move(parts)), schedule_(std::move(triggers)), bounds_(bounds), asked_(parts_.header) {}

Result<> RecordedContents::ask(SnapshotTaker::Request request) {
  const std::string name = request.name;
  Result<> begun = begin(std::move(request));
  if (!begun) mark_now(name);
  return begun;
}

Result<> RecordedContents::begin(SnapshotTaker::Request request) {
  if (!parts_.sink.has_tape()) return Error{ErrorCode::Unsupported, "there is no tape to put a snapshot on"};
  if (all_bytes_ >= bounds_.most_bytes) return limit_reached();
  request.with_not_dumped |= bounds_.with_not_dumped;
  if (!desk_) desk_ = std::make_unique<SnapshotDesk>(parts_.pid, parts_.wake, parts_.header);
  if (!desk_->ask(std::move(request)))
    return Error{ErrorCode::Exhausted, "too many snapshots wait already; try again when they are done"};
  return Unit{};
}

Error RecordedContents::limit_reached() const {
  return {ErrorCode::Exhausted, "the snapshots on this tape have reached their limit of " +
                                    bytes_text(bounds_.most_bytes) + " (--snapshot-limit)"};
}

Error RecordedContents::room_reached() const {
  return {ErrorCode::Exhausted, "it may take at most half of the room that is left for the tape, " + bytes_text(room_) +
                                    "; make room on the disk, or put the tape on another one (-o)"};
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
    if (mark.kind != MarkKind::Snapshot && schedule_.wants_mark(mark.name)) take_due(mark.name);
  }
}

// What the program asks for itself. It waits for snapshots of its end to be complete, for then it is gone.
void RecordedContents::hear_program() {
  if (const std::optional<int> signal = asked_.take_signal()) take_due(signal_name(*signal));
  std::optional<AskedContents::Question> question = asked_.take();
  if (!question) return;
  const bool ends = question->reason != wire::ContentsReason::Call;
  heard_end_ |= ends;
  SnapshotTaker::Request request{.name = std::move(question->name),
                                 .method = ends ? SnapshotMethod::Stop : SnapshotMethod::Unknown,
                                 .asked_by = question->thread,
                                 .ends = ends};
  if (request.name.empty()) request.name = "heaptape_contents()";
  if (const Result<> asked = ask(request); !asked) {
    note_trouble(request.name, asked.error());
    answer(request, 0);
  }
}

void RecordedContents::answer(const SnapshotTaker::Request& request, std::uint64_t number) {
  if (request.asked_by) asked_.answer(*request.asked_by, number);
}

void RecordedContents::close() {
  desk_.reset();
  asked_.refuse();
}

void RecordedContents::finish() {
  while (working() && desk_->is_copied()) {
    desk_->serve(*this);
    if (std::optional<SnapshotDesk::Ended> ended = desk_->take_ended()) end(std::move(*ended));
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  close();
}

void RecordedContents::program_ended(Ending ending, int signal) {
  note_missing_end(ending, signal);
  // Most likely it ran for less time than the collector takes to look.
  if (on_tape_ == 0 && troubles_.empty() && (was_due_ || schedule_.due(now())))
    troubles_.push_back("there is no snapshot: one was due, but the program ended before it could be taken; "
                        "--snapshot=exit takes one at the end");
}

void RecordedContents::note_missing_end(Ending ending, int signal) {
  if (!schedule_.triggers().exit || heard_end_) return;
  if (ending == Ending::Killed) {
    const bool may_come =
        signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE || signal == SIGABRT;
    troubles_.push_back(
        "there is no snapshot of the program's end: " + signal_name(signal) + " killed it; " +
        (may_come ? "--snapshot=exit,crash takes one then, too" : "--snapshot=every:10s takes some on the way"));
  } else if (ending == Ending::Exited) {
    troubles_.push_back("there is no snapshot of the program's end: it made the system call exit_group itself");
  }
}

void RecordedContents::serve() {
  look_at_marks();
  hear_program();
  if (std::optional<std::string> name; !working() && (name = schedule_.due(now()))) {
    was_due_ = true;
    take_due(std::move(*name));
  }
  asked_.beat();
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
      ++on_tape_;
      const std::uint64_t bytes = bytes_ + parts_.sink.bytes_written() - before;
      text = "event " + with_separators(snapshot.event) + ", " + std::string(snapshot_method_name(snapshot.method)) +
             ", the program stood still for " + duration_text(snapshot.pause_us) + ", " +
             with_separators(snapshot.new_pages) + " new pages, " + bytes_text(bytes) + " on the tape";
    } else {
      desk_->refuse_last();
      text = Error{ErrorCode::Io, "the tape could not take the snapshot; it was dropped"};
    }
  } else {
    text = reached_limit_ ? limit_reached() : reached_room_ ? room_reached() : ended.snapshot.error();
    if (!is_marked_) mark_now(ended.request.name);
  }
  bytes_ = 0;
  is_marked_ = reached_limit_ = reached_room_ = false;
  if (!text) note_trouble(ended.request.name, text.error());
  answer(ended.request, text ? ended.snapshot.value().number : 0);
  outcome_.emplace(Outcome{std::move(ended.request.name), std::move(text)});
}

void RecordedContents::take_due(std::string name) {
  if (const Result<> asked = ask({.name = name}); !asked) note_trouble(name, asked.error());
}

// Each reason once: snapshots that come every second may lack the same thing.
void RecordedContents::note_trouble(const std::string& name, const Error& why) {
  if (troubles_.size() >= kMostTroubles || !reasons_.insert(why.sentence).second) return;
  troubles_.push_back((name.empty() ? "a snapshot" : "snapshot '" + printable(name) + "'") +
                      " holds no memory: " + why.sentence);
}

void RecordedContents::mark_now(const std::string& name) {
  add_mark(name, parts_.builder.events(), parts_.clock.to_us(parts_.clock.now()));
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
  const HeapTotals& totals = parts_.builder.model().totals();
  SnapshotCut cut{.event = parts_.builder.events(),
                  .time_us = parts_.clock.to_us(parts_.clock.now()),
                  .live = {totals.live_bytes, totals.live_blocks}};
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
  add_mark(name, cut->event, cut->time_us);
  is_marked_ = true;
}

void RecordedContents::is_copied(const SnapshotTaker::Request& request, std::uint64_t number) {
  if (!request.ends) answer(request, number);
}

void RecordedContents::add_mark(const std::string& name, std::uint64_t event, std::uint64_t time_us) {
  parts_.builder.marks().add_own({.name = name, .event = event, .time_us = time_us, .kind = MarkKind::Snapshot});
}

bool RecordedContents::write_pages(std::vector<std::byte> payload) {
  if (all_bytes_ + payload.size() > bounds_.most_bytes) {
    all_bytes_ = bounds_.most_bytes;
    reached_limit_ = true;
    return false;
  }
  if (bytes_ == 0) room_ = parts_.sink.room() / kShareOfRoom;
  if (bytes_ + payload.size() > room_) {
    reached_room_ = true;
    return false;
  }
  const std::uint64_t before = parts_.sink.bytes_written();
  const bool written =
      parts_.sink.try_write(payload.size(), [&](TapeWriter& writer) { return writer.add_pages(payload); });
  const std::uint64_t bytes = parts_.sink.bytes_written() - before;
  bytes_ += bytes;
  all_bytes_ += bytes;
  return written;
}

} // namespace heaptape
