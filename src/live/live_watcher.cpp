#include "live/live_watcher.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "base/number_text.h"
#include "collector/options/tape_name.h"
#include "live/live_heap.h"
#include "live/live_writer.h"

namespace heaptape {
namespace {

// A collector has one watcher, and a process one collector.
std::atomic<bool> g_signalled{false};
static_assert(std::atomic<bool>::is_always_lock_free);
void note_signal(int) { g_signalled.store(true, std::memory_order_relaxed); }

constexpr std::size_t kMostWaiting = 64;      // then snapshots for churn and time wait
constexpr std::size_t kMostEverWaiting = 256; // then those that were asked for are left out
constexpr std::uint64_t kNever = ~std::uint64_t{0};
constexpr std::size_t kAlarmRows = 10;

std::string signal_text(int number) {
  switch (number) {
  case 0: return "";
  case SIGUSR1: return "USR1";
  case SIGUSR2: return "USR2";
  case SIGHUP: return "HUP";
  case SIGALRM: return "ALRM";
  default: return std::to_string(number);
  }
}

// The words of a command, as one would type them; good enough for people.
std::string command_text(const WatchedProgram& program) {
  std::string text = program.command;
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  constexpr std::size_t kLongest = 200;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text.empty() ? program.name : text;
}

class LiveWatcher final : public EventWatcher {
public:
  LiveWatcher(const LiveOptions& options, std::unique_ptr<LiveWriter> writer)
      : options_(options), writer_(std::move(writer)),
        churn_limit_(options.log && options.log_churn != 0 ? options.log_churn : kNever),
        live_limit_(options.max_live_bytes != 0 ? options.max_live_bytes : kNever), next_log_us_(options.log_every_us),
        next_table_us_(options.top_every_us) {
    if (options.log && options.log_signal != 0) {
      struct sigaction action {};
      action.sa_handler = note_signal;
      ::sigemptyset(&action.sa_mask);
      ::sigaction(options.log_signal, &action, nullptr);
    }
  }

  void on_modules(std::span<const Module> modules) override {
    modules_.insert(modules_.end(), modules.begin(), modules.end());
  }

  void on_stacks(StackId first, std::span<const StackNode> nodes) override {
    if (nodes_.empty()) first_node_ = first;
    nodes_.insert(nodes_.end(), nodes.begin(), nodes.end());
  }

  void on_events(std::span<const Event> events) override {
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (i + LiveHeap::kAhead < events.size()) heap_.prefetch(events[i + LiveHeap::kAhead]);
      heap_.apply(events[i]);
      if (heap_.churn_bytes() >= churn_limit_ || heap_.live().bytes > live_limit_) [[unlikely]]
        cross(events[i]);
    }
    if (!events.empty()) last_ = events.back();
  }

  void on_mark(const Mark& mark) override {
    if (options_.log && mark.kind == MarkKind::Snapshot)
      ask("mark" + (mark.name.empty() ? "" : " '" + printable(mark.name) + "'"), mark.time_us);
  }

  WatcherWish on_round(std::uint64_t time_us) override {
    if (options_.log && g_signalled.exchange(false, std::memory_order_relaxed)) ask("signal", time_us);
    if (options_.log_every_us != 0 && options_.log && time_us >= next_log_us_) {
      next_log_us_ = time_us + options_.log_every_us;
      if (has_room()) take("time", time_us);
    }
    if (options_.top_every_us != 0 && time_us >= next_table_us_) {
      next_table_us_ = time_us + options_.top_every_us;
      if (has_room()) take_table(time_us);
    }
    send();
    WatcherWish wish = std::exchange(wish_, {});
    wish.next_us = next_due_us(time_us);
    return wish;
  }

  void on_end(const Summary& summary) override {
    LiveJob job = make_job(summary.duration_us);
    if (options_.log) {
      job.why = "exit";
      job.complete = true;
      fill(job);
    }
    if (options_.top_every_us != 0) {
      job.table = true;
      job.largest = heap_.largest(options_.top_rows, options_.top_sort);
    }
    job.end = summary;
    due_.push_back(std::move(job));
    send();
    writer_->finish();
  }

  void on_nothing() override { writer_->remove_files(); }
  std::string file() const override { return writer_->path(); }

private:
  // When something is to be written whatever the program does. A limit on live bytes must be seen soon.
  std::uint64_t next_due_us(std::uint64_t now_us) const {
    constexpr std::uint64_t kSoon = 50'000;
    std::uint64_t due = live_limit_ != kNever ? now_us + kSoon : kNever;
    if (options_.log && options_.log_every_us != 0) due = std::min(due, next_log_us_);
    if (options_.top_every_us != 0) due = std::min(due, next_table_us_);
    return due != kNever ? due : 0;
  }

  bool has_room() const { return due_.size() + writer_->waiting() < kMostWaiting; }

  LiveJob make_job(std::uint64_t time_us) const {
    LiveJob job;
    job.snapshot.time_us = time_us;
    job.snapshot.event = last_.number;
    job.snapshot.allocated = heap_.allocated();
    job.snapshot.freed = heap_.freed();
    job.snapshot.peak_bytes = heap_.peak_bytes();
    return job;
  }
  void fill(LiveJob& job) {
    job.snapshot.churn_bytes = heap_.churn_bytes();
    job.snapshot.changes = heap_.take_changes();
    churn_limit_ = options_.log_churn != 0 ? options_.log_churn : kNever;
  }
  void take(std::string why, std::uint64_t time_us) {
    LiveJob job = make_job(time_us);
    job.why = std::move(why);
    fill(job);
    due_.push_back(std::move(job));
  }
  void ask(std::string why, std::uint64_t time_us) {
    if (due_.size() + writer_->waiting() < kMostEverWaiting)
      take(std::move(why), time_us);
    else
      writer_->leave_out();
  }
  void take_table(std::uint64_t time_us) {
    LiveJob job = make_job(time_us);
    job.table = true;
    job.largest = heap_.largest(options_.top_rows, options_.top_sort);
    due_.push_back(std::move(job));
  }

  [[gnu::noinline]] void cross(const Event& event) {
    last_ = event;
    if (heap_.live().bytes > live_limit_) {
      live_limit_ = kNever;
      LiveJob job = make_job(event.time_us);
      job.largest = heap_.largest(kAlarmRows);
      job.alarm = fmt::format("the live heap has passed {} (--max-live), at {} s, event {}; {}",
                              short_bytes(options_.max_live_bytes), seconds_text(event.time_us), event.number,
                              options_.max_live_report ? "the program runs on" : "the program is asked to end");
      due_.push_back(std::move(job));
      wish_.marks.push_back({.name = "max-live passed",
                             .event = event.number,
                             .time_us = event.time_us,
                             .thread = event.thread,
                             .stack = event.stack});
      wish_.stop_program = !options_.max_live_report;
      if (options_.log) take("max-live", event.time_us);
    }
    if (heap_.churn_bytes() < churn_limit_) return;
    if (has_room())
      take("churn", event.time_us);
    else
      churn_limit_ = heap_.churn_bytes() + options_.log_churn / 4 + 1; // look again then
  }

  // Only now: modules become known at the end of a round.
  void send() {
    for (LiveJob& job : due_) {
      job.snapshot.modules = std::exchange(modules_, {});
      job.snapshot.first_stack = first_node_;
      job.snapshot.stacks = std::exchange(nodes_, {});
      writer_->add(std::move(job));
    }
    due_.clear();
  }

  LiveOptions options_;
  LiveHeap heap_;
  std::unique_ptr<LiveWriter> writer_;
  std::uint64_t churn_limit_, live_limit_;
  std::uint64_t next_log_us_, next_table_us_;
  Event last_{};
  std::vector<Module> modules_;
  StackId first_node_{};
  std::vector<StackNode> nodes_;
  std::vector<LiveJob> due_;
  WatcherWish wish_;
};

} // namespace

Result<std::unique_ptr<EventWatcher>> watch_live(const LiveOptions& options, bool look_up, const std::string& version,
                                                 const WatchedProgram& program) {
  const TapeNameFacts names{static_cast<std::uint32_t>(program.pid), program.name,
                            static_cast<std::time_t>(program.start_realtime_ns / 1'000'000'000)};
  std::optional<LogFile> log, tables;
  if (options.log) {
    Result<LogFile> created =
        LogFile::create(expand_tape_name(options.log_name, names), {options.log_max_bytes, options.log_keep});
    if (!created) return created.error();
    log.emplace(std::move(created).value());
  }
  if (options.top_every_us != 0 && !options.top_file.empty()) {
    Result<LogFile> created = LogFile::create(expand_tape_name(options.top_file, names), {0, options.log_keep});
    if (!created) return created.error();
    tables.emplace(std::move(created).value());
  }
  LogFacts facts{.program = command_text(program),
                 .pid = static_cast<std::uint32_t>(program.pid),
                 .collector_pid = static_cast<std::uint32_t>(::getpid()),
                 .start_realtime_ns = program.start_realtime_ns,
                 .version = version,
                 .churn = options.log_churn,
                 .every_us = options.log_every_us,
                 .signal = signal_text(options.log_signal),
                 .all = options.log_all};
  auto writer =
      std::make_unique<LiveWriter>(options, look_up, std::move(facts), std::move(log), std::move(tables), program.tell);
  return std::unique_ptr<EventWatcher>(std::make_unique<LiveWatcher>(options, std::move(writer)));
}

WatcherFactory live_watcher_factory(const LiveOptions& options, bool look_up, std::string version) {
  if (!options.wanted()) return {};
  return [options, look_up, version = std::move(version)](const WatchedProgram& program) {
    return watch_live(options, look_up, version, program);
  };
}

} // namespace heaptape
