// Snapshots of memory as part of a recording: takes them when asked or when due, at a moment between two events, and writes them to the tape.
// One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collector/contents/asked_contents.h"
#include "collector/contents/snapshot_desk.h"
#include "collector/contents/snapshot_schedule.h"
#include "collector/events/event_builder.h"
#include "collector/events/tape_sink.h"
#include "collector/rings/ring_set.h"
#include "collector/rings/thread_list.h"
#include "collector/rings/tick_clock.h"

namespace heaptape {

class RecordedContents final : private SnapshotWork {
public:
  // All must outlive it.
  struct Parts {
    pid_t pid = 0;
    RingSet& rings;
    TickClock& clock;
    ThreadList& threads;
    TapeSink& sink;
    EventBuilderBase& builder;
    std::function<ItemConsumer&()> consumer; // of what the rings hold
    std::function<void()> flush;             // puts everything up to now onto the tape
    std::function<void()> wake;              // see SnapshotDesk
    wire::Header& header;                    // where the program asks
  };
  RecordedContents(Parts parts, SnapshotTriggers triggers, SnapshotBounds bounds);

  // Refused with a sentence when too many wait, or there is no room for more; the moment is named all the same.
  Result<> ask(SnapshotTaker::Request request);
  bool working() const { return desk_ && desk_->working(); }
  // Does what is due, and what the snapshot under way needs. Call it in every round.
  void serve();
  // How the last one ended that take_outcome() has not given yet: what it was like, or why there is none.
  struct Outcome {
    std::string name;
    Result<std::string> text;
  };
  std::optional<Outcome> take_outcome() { return std::exchange(outcome_, std::nullopt); }
  // Sentences about snapshots that were due and could not be taken, each once.
  const std::vector<std::string>& troubles() const { return troubles_; }
  // Instead of serve(), when the tape takes no more.
  void refuse() { asked_.refuse(); }
  // Ends what is under way.
  void close();
  // The program has ended: completes what was copied of it, and ends the rest.
  void finish();
  // How the program ended, for which a snapshot was perhaps wanted; before the last look at troubles().
  void program_ended(Ending ending, int signal);

private:
  void drain_a_little() override;
  SnapshotCut cut() override;
  void moment_is_over(const std::string& name, const std::optional<SnapshotCut>& cut) override;
  void is_copied(const SnapshotTaker::Request& request, std::uint64_t number) override;
  bool write_pages(std::vector<std::byte> payload) override;
  Result<> begin(SnapshotTaker::Request request);
  void take_due(std::string name);
  Error limit_reached() const;
  Error room_reached() const;
  void note_missing_end(Ending ending, int signal);
  void note_trouble(const std::string& name, const Error& why);
  void mark_now(const std::string& name);
  void add_mark(const std::string& name, std::uint64_t event, std::uint64_t time_us);
  void look_at_marks();
  void hear_program();
  void answer(const SnapshotTaker::Request& request, std::uint64_t number);
  void end(SnapshotDesk::Ended ended);
  SnapshotSchedule::Now now() const;

  Parts parts_;
  SnapshotSchedule schedule_;
  SnapshotBounds bounds_;
  std::unique_ptr<SnapshotDesk> desk_; // made when the first one is asked for
  std::uint64_t marks_seen_ = 0;
  AskedContents asked_;
  bool heard_end_ = false;      // the program has asked for a snapshot of its end, or of its crash
  bool was_due_ = false;        // one for its time, events or size
  std::uint64_t on_tape_ = 0;   // snapshots
  bool is_marked_ = false;      // the moment of the one under way
  std::uint64_t bytes_ = 0;     // of pages that were written for the one under way
  std::uint64_t all_bytes_ = 0; // of all
  bool reached_limit_ = false;  // with the one under way
  std::uint64_t room_ = 0;      // that it may take
  bool reached_room_ = false;
  std::optional<Outcome> outcome_;
  std::vector<std::string> troubles_;
  std::set<std::string> reasons_; // of these
};

} // namespace heaptape
