// One attached program on its way to one tape: the whole pipeline behind a step() and a finish(). One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "collector/control/control_message.h"
#include "collector/events/answer_desk.h"
#include "collector/events/event_builder.h"
#include "collector/events/event_watcher.h"
#include "collector/events/stack_folder.h"
#include "collector/events/tape_sink.h"
#include "collector/events/watched_sink.h"
#include "collector/observe/module_files.h"
#include "collector/observe/module_follower.h"
#include "collector/observe/proc_files.h"
#include "collector/observe/run_time_watch.h"
#include "collector/recording/footprint_follower.h"
#include "collector/recording/recorded_contents.h"
#include "collector/rings/ring_set.h"
#include "collector/rings/shared_memory.h"
#include "collector/rings/thread_list.h"
#include "collector/rings/tick_clock.h"
#include "tape/contents.h"
#include "tape/writer.h"
#include "wire/loss_name.h"

namespace heaptape {

struct RecordingFacts {
  pid_t pid = 0;                    // in the collector's pid namespace
  std::uint64_t tape_start_ns = 0;  // CLOCK_MONOTONIC at time 0 of the tape
  Meta meta;                        // known beforehand; completed from /proc
  std::uint64_t max_tape_bytes = 0; // 0: no limit
  bool hold_files = false;          // keep the modules' files open
  UniqueFd executable{};            // with hold_files: the program's, if it could be opened
  EventWatcher* watcher = nullptr;  // must outlive the recording
  SnapshotTriggers snapshots{};     // when snapshots of memory are due
  SnapshotBounds snapshot_bounds{};
  std::string check_mode{};     // of the checks in the program; empty: it is not checked
  std::function<void()> wake{}; // makes the caller of step() do so soon; from any thread. May be empty
};

class Recording {
public:
  // The program has attached: the header's clock fields are set. Memory and writer must outlive the recording.
  Recording(const SharedMemory& memory, TapeWriter& writer, RecordingFacts facts)
      : Recording(memory, &writer, std::move(facts)) {}
  // Without a writer there is no tape; what is recorded goes to the watcher alone.
  Recording(const SharedMemory& memory, TapeWriter* writer, RecordingFacts facts);

  // Takes out what is ready; from time to time also samples, thread names and so on. `now_ns` is CLOCK_MONOTONIC.
  Round step(std::uint64_t now_ns);

  // Puts everything that the program has done up to now onto the tape, and how it stands: threads, memory, mappings. A
  // thread that is inside a hook is waited for only briefly.
  void flush();
  // Names this moment, then flush().
  void mark(const std::string& name, MarkKind kind);
  // A snapshot of what the memory holds; returns when it is on the tape, and says what it is like. The rings are drained meanwhile.
  Result<std::string> take_contents(SnapshotTaker::Request request);
  RecordedContents& contents() { return *contents_; }
  // What flush() would leave on the tape. Without the names of the files.
  LiveRecording figures() const;

  // The tape takes no more. From then on step() only counts the events, until the program's end, so that the report can
  // say how many are missing.
  bool failed() const { return sink_.error().has_value(); }
  // The watcher wants the program to end.
  bool wants_stop() const { return wants_stop_; }
  const TapeSink& sink() const { return sink_; }
  ModuleFiles& files() { return files_; }
  RunTimeWatch& run_time() { return run_time_; }
  // Neither records nor CPU time of the program to speak of, for so long that step() may come more rarely.
  bool is_quiet(std::uint64_t now_ns) const;
  // When the watcher wants the next step() at the latest, CLOCK_MONOTONIC; 0: any time.
  std::uint64_t next_round_ns() const { return next_round_ns_; }
  // A thread of the program waits for an answer: step() again soon.
  bool is_awaited(std::uint64_t now_ns) { return !failed() && desk_.is_awaited(now_ns); }
  // What the checks have found, and, of a checked program, wrong releases.
  std::uint64_t memory_errors() const {
    const std::uint64_t faults = facts_.check_mode.empty() ? 0 : builder_->odd_calls().faults();
    return builder_->memory_errors().found() + count_only_.memory_errors + faults;
  }
  std::uint64_t cpu_samples() const { return builder_->cpu().taken_in(); }
  // Functions of --alloc-fn and --free-fn whose calls are recorded.
  const std::set<std::string>& pool_functions() { return builder_->pools().pool_functions(); }
  const std::string& executable() const { return executable_; }
  const std::string& command() const { return command_; } // arguments, each terminated by a NUL byte
  pid_t parent() const;                                   // by now; 0: not known
  // What is hidden of a Python program, or empty.
  const std::string& python_remark() const { return python_remark_; }
  // The program wrote over the memory that it shares with us: what it says of losses means nothing.
  bool is_written_over() const;

  // Facts that are known at the end only.
  void add_meta(const Meta& meta);

  // The program has become another one by exec.
  bool program_replaced() const;

  // After the program's end: takes out all that is ready.
  void drain();
  // Instead of drain(), while the program goes on: what it has done up to now.
  void break_off();
  // Completes the tape; after drain() or break_off(). The result is also its last chunk.
  Summary finish(Ending ending, std::int32_t detail, const std::string& note);

private:
  // Where items go when the tape takes no more.
  struct CountOnly final : ItemConsumer {
    void consume(std::span<RingItem> items) override;
    std::uint64_t events = 0;
    std::uint64_t memory_errors = 0;
  };

  ItemConsumer& consumer() {
    if (failed() && watched_ == nullptr) return count_only_;
    return *builder_;
  }
  void make_builder();
  void tell_watcher();
  void catch_up();
  void keep_house(std::uint64_t now_ns, bool busy);
  void write_meta(const Meta& known);
  void write_modules();
  void write_waiting();
  void write_marks();
  void write_cpu();
  void write_pools();
  void write_forks();
  void write_odd_calls();
  void write_memory_errors();
  void write_crashes();
  void write_threads(bool all);
  void name_threads();
  void take_thread_names();
  void reap_threads();
  Thread describe(ThreadId id, const ThreadList::Known& known, std::uint64_t ended_us) const;
  Summary summarize() const;

  const SharedMemory& memory_;
  RecordingFacts facts_;
  ProcFiles proc_;
  std::string executable_, command_;
  Meta meta_; // as on the tape
  std::string python_remark_;
  std::optional<ProcStat> image_; // at the start
  bool replaced_early_ = false;   // it had already become another program
  bool tids_are_ours_ = false;    // the program's thread ids mean the same in our pid namespace

  TickClock clock_;
  ThreadList threads_;
  StackFolder stacks_;
  ModuleFollower modules_;
  ModuleFiles files_;
  RunTimeWatch run_time_; // with hold_files
  TapeSink sink_;
  RingSet rings_;
  std::unique_ptr<WatchedSink> watched_; // null: there is no watcher
  std::unique_ptr<EventBuilderBase> builder_;
  AnswerDesk desk_;
  CountOnly count_only_;

  FootprintFollower footprint_;
  std::unique_ptr<RecordedContents> contents_;

  std::uint64_t next_upkeep_ns_ = 0;
  std::uint64_t next_flush_ns_ = 0;
  std::uint64_t module_log_seen_ = 0;
  std::uint32_t threads_written_ = 0;
  std::uint64_t end_us_ = 0;
  bool wants_stop_ = false;
  bool check_mode_written_ = false;
  std::uint64_t next_round_ns_ = 0;
  std::uint64_t last_records_ns_ = 0; // more than a few were in a ring
};

} // namespace heaptape
