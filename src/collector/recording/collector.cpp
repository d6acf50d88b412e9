#include "collector/recording/collector.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/path_text.h"
#include "collector/observe/proc_files.h"
#include "collector/observe/unseen_children.h"
#include "collector/options/check_text.h"
#include "collector/options/function_options.h"
#include "collector/recording/own_process.h"

namespace heaptape {

namespace {

constexpr std::uint64_t kUs = 1'000;
constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kShortestRest = 50 * kUs;
constexpr std::uint64_t kLongestRest = 50 * kMs;
constexpr std::uint64_t kQuietRest = 200 * kMs; // while the program does nothing
constexpr std::uint64_t kReplacedEvery = 100 * kMs;
constexpr std::uint64_t kLimitsEvery = 20 * kMs;
constexpr std::uint64_t kTimeToEnd = 10'000 * kMs; // for a program that was asked to
constexpr std::uint64_t kStatusPatienceMs = 2'000; // the launcher reaps the program right after we see it end

void futex_wake_all(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

constexpr const char* kWrittenOver = "the program wrote over the memory that it shares with heaptape: what was "
                                     "recorded after that, and how much was lost, is unknown";

const char* sentence_for(wire::OffReason reason) {
  switch (reason) {
  case wire::OffReason::None: return "";
  case wire::OffReason::CollectorGone: return "";
  case wire::OffReason::MapFailed: return "there was no memory for the recorder in the program";
  case wire::OffReason::Sanitizer: return "the program is a sanitizer build, whose allocator cannot be recorded";
  case wire::OffReason::OwnAllocator: return "the program has its own allocator, which the recorder cannot see";
  case wire::OffReason::WrittenOver: return kWrittenOver;
  }
  return "";
}

} // namespace

Collector::Collector(const CollectorOptions& options, SharedMemory memory, pid_t program, std::string program_name,
                     ProgramOrigin origin)
    : options_(options), memory_(std::move(memory)), program_(program), program_name_(std::move(program_name)),
      origin_(std::move(origin)) {
  if (options.finish && options.symbols && !options.program.empty()) executable_ = open_regular_file(options.program);
}

void Collector::set_door(ExecDoor* door, bool follow_child) {
  door_ = door;
  follow_child_ = follow_child;
}

void Collector::wake() {
  wire::Header& header = memory_.header();
  header.wake.fetch_add(1, std::memory_order_release);
  futex_wake_all(header.wake);
}

std::uint32_t Collector::wakes() const { return memory_.header().wake.load(std::memory_order_acquire); }

void Collector::sleep(std::uint64_t ns, std::uint32_t seen) {
  wire::Header& header = memory_.header();
  header.collector_asleep.store(1, std::memory_order_seq_cst);
  const timespec most{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  ::syscall(SYS_futex, &header.wake, FUTEX_WAIT, seen, &most, nullptr, 0);
  header.collector_asleep.store(0, std::memory_order_relaxed);
}

void Collector::hold_program() { program_fd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, program_, 0))); }

bool Collector::wait_for_program(ProgramEnd& end) {
  if (!end.watches(program_)) {
    end.adopt(std::move(program_fd_));
    end.watch(program_);
  }
  std::uint64_t rest = kMs;
  while (memory_.header().attached.load(std::memory_order_acquire) == 0) { // pairs with the recorder's attaching
    if (end.cancelled()) return false;
    // Gone: one more look, for it may have attached just before.
    if (end.gone() || (program_ == 0 && !end.has_launcher())) {
      return memory_.header().attached.load(std::memory_order_acquire) != 0;
    }
    sleep(rest, wakes());
    rest = std::min(rest * 2, kLongestRest);
  }
  return true;
}

CollectorResult Collector::not_attached(ProgramEnd& end) {
  CollectorResult result;
  if (control_) control_->close("nothing is being recorded");
  if (writer_) {
    writer_.reset();
    ::unlink(tape_path_.c_str());
  }
  if (watcher_) watcher_->on_nothing();
  if (end.cancelled()) return result;
  const auto reason = static_cast<wire::OffReason>(memory_.header().off_reason.load(std::memory_order_relaxed));
  const std::string why = sentence_for(reason);
  const std::string limit = limit_on_memory(end.has_launcher() ? ::getppid() : 0);
  const std::string guess =
      limit.empty() ? " (is it static, or set-user-ID?)" : "; " + limit + " may be too low for it";
  result.problem =
      "nothing was recorded: " + (why.empty() ? program_name_ + " did not load the recorder" + guess : why);
  result.told = reason == wire::OffReason::MapFailed;
  return result;
}

void Collector::release_program() {
  wire::Header& header = memory_.header();
  header.collector_state.store(wire::kCollectorDone, std::memory_order_release);
  header.drained.fetch_add(1, std::memory_order_release);
  futex_wake_all(header.drained);
}

// How long nothing needs to be done: until the fullest ring is about a third full, going by the time since the last
// look. The program wakes us if that was too long.
std::uint64_t Collector::rest_after(const Round& round, std::uint64_t since_last_ns, bool quiet) {
  const std::uint64_t capacity = memory_.config().ring_records;
  if (round.more || round.fullest > capacity / 4) return last_rest_ns_ = 0;
  const std::uint64_t until_third = since_last_ns * (capacity / 3) / std::max<std::uint64_t>(round.fullest, 1);
  const std::uint64_t longest = std::clamp(last_rest_ns_ * 2, kMs, quiet ? kQuietRest : kLongestRest);
  last_rest_ns_ = std::clamp(until_third, kShortestRest, longest);
  return last_rest_ns_;
}

// The program may tidy up first, as for any SIGTERM.
void Collector::stop_program(ProgramEnd& end, std::uint64_t now_ns) {
  if (kill_at_ns_ == 0) {
    kill_at_ns_ = now_ns + kTimeToEnd;
    end.send_signal(SIGTERM);
  } else if (now_ns >= kill_at_ns_) {
    kill_at_ns_ = now_ns + kTimeToEnd;
    end.send_signal(SIGKILL);
  }
}

ControlReply Collector::reply_to(const ControlRequest& request, Recording& recording) {
  switch (request.ask) {
  case ControlAsk::Info: break;
  case ControlAsk::Flush: recording.flush(); break;
  case ControlAsk::Mark: recording.mark(request.name, request.mark); break;
  case ControlAsk::Stop: stop_asked_ = true; break;
  case ControlAsk::Contents: break;
  }
  ControlReply reply;
  if (request.ask == ControlAsk::Contents) {
    Result<std::string> taken = recording.take_contents({request.name, request.method, request.with_not_dumped});
    if (taken)
      reply.outcome = std::move(taken).value();
    else
      reply.missing = taken.error().sentence;
  }
  if (request.ask != ControlAsk::Info && recording.failed()) {
    reply.refusal = "the tape can take no more: " + recording.sink().error()->sentence;
  }
  reply.recording = recording.figures();
  reply.recording.collector = ::getpid();
  reply.recording.started_realtime_ns = tape_start_realtime_ns_;
  // By the name under which it was started, where that is a link's or a script's.
  const std::string name(base_name(program_name_));
  reply.recording.program = base_name(recording.executable()) == name ? recording.executable() : name;
  reply.recording.command = recording.command();
  reply.recording.parent = recording.parent();
  if (!tape_path_.empty()) reply.recording.tape = std::filesystem::absolute(tape_path_).lexically_normal();
  return reply;
}

// Answers requests from other processes, and from the program itself.
void Collector::serve(Recording& recording, WhereDesk& desk) {
  if (control_ && control_->has_requests()) {
    control_->answer([&](const ControlRequest& request) { return reply_to(request, recording); });
  }
  if (desk.asked()) {
    recording.flush();
    desk.begin(tape_path_);
  }
  if (desk.working()) desk.go_on();
}

// Whoever is neither the program after exec nor the one that was meant is sent away.
std::optional<Left> Collector::see_to_door() {
  while (door_ != nullptr && door_->has_visitors()) {
    std::optional<Visitor> visitor = door_->take();
    if (!visitor) break;
    const bool is_itself = visitor->pid == program_;
    const bool is_child = !is_itself && follow_child_ && ProcFiles(visitor->pid).parent() == program_;
    if (is_itself || is_child) {
      door_->put_back(std::move(*visitor));
      return is_itself ? Left::Replaced : Left::Handed;
    }
    send_away(*visitor);
  }
  return std::nullopt;
}

Left Collector::follow(Recording& recording, ProgramEnd& end, CollectorResult& result, const Tell& tell) {
  WhereDesk desk(memory_, options_.where_command);
  std::uint64_t last_ns = monotonic_ns(), next_replaced_ns = last_ns + kReplacedEvery;
  std::uint64_t next_limit_ns = last_ns;
  while (!end.gone()) {
    const std::uint64_t now_ns = monotonic_ns();
    const std::uint32_t wakes_seen =
        wakes(); // whoever wakes us from now on may have something that this round does not see
    const Round round = recording.step(now_ns);
    if (recording.failed() && !result.told) {
      result.problem = "recording stopped: " + recording.sink().error()->sentence;
      result.told = true;
      tell(result.problem);
    }
    serve(recording, desk);
    if (const std::optional<Left> left = see_to_door()) return *left;
    if (stop_asked_ || (options_.should_stop && options_.should_stop())) return Left::Stopped;
    if (now_ns >= next_limit_ns) {
      next_limit_ns = now_ns + kLimitsEvery;
      if (cpu_time_runs_out()) return Left::OutOfTime;
    }
    if (recording.wants_stop()) stop_program(end, now_ns);
    std::uint64_t rest = rest_after(round, now_ns - last_ns, recording.is_quiet(now_ns));
    if (recording.is_awaited(now_ns)) rest = std::min(rest, kShortestRest);
    last_ns = now_ns;
    if (rest == 0) continue;
    if (now_ns >= next_replaced_ns) {
      next_replaced_ns = now_ns + kReplacedEvery;
      if (recording.program_replaced()) return Left::Replaced;
    }
    if (desk.working()) rest = std::min(rest, kMs);
    if (const std::uint64_t next_ns = recording.next_round_ns(); next_ns != 0)
      rest = std::clamp(next_ns - std::min(next_ns, now_ns), kShortestRest, rest);
    if (!end.gone()) sleep(rest, wakes_seen);
  }
  return Left::Gone;
}

// What the program noted about processes and programs that are not recorded.
void Collector::take_unseen(Recording& recording, CollectorResult& result) {
  const wire::Header& header = memory_.header();
  const bool same_pids = header.pid.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(program_);
  const std::string name(base_name(program_name_));
  const UnseenChildren children = unseen_children(memory_.children(), name, same_pids);
  result.unseen = unseen_children_text(children, name);
  result.became = std::string(header.became, ::strnlen(header.became, sizeof header.became));
  Meta meta = unseen_children_meta(children);
  if (!result.became.empty()) meta["became"] = result.became;
  recording.add_meta(meta);
}

CollectorResult Collector::record(ProgramEnd& end, const Tell& tell) {
  if (program_ == 0) {
    program_ = static_cast<pid_t>(memory_.header().pid.load(std::memory_order_relaxed));
    end.watch(program_);
  }
  CollectorResult result;
  result.attached = true;
  if (!created_) {
    if (const Result<> created = create_tape(program_); !created.ok()) {
      release_program();
      result.problem = created.error().sentence;
      return result;
    }
  }
  memory_.close_fd();
  Recording recording(memory_, writer_ ? &*writer_ : nullptr,
                      {program_, tape_start_ns_, known_facts(), options_.max_tape_bytes,
                       options_.finish != nullptr && options_.symbols && writer_.has_value(), std::move(executable_),
                       watcher_.get(), options_.snapshots, options_.snapshot_bounds, mode_of_check(options_.check),
                       [this] { wake(); }});

  const Left left = follow(recording, end, result, tell);
  if (control_) control_->close("the recording is over");
  Ending ending = Ending::Unknown;
  int detail = 0;
  std::string note;
  if (recording.failed()) {
    ending = Ending::CollectorStopped;
    note = recording.sink().error()->sentence;
  } else if (left == Left::Replaced) {
    ending = Ending::Replaced;
  } else if (left == Left::Stopped) {
    ending = Ending::CollectorStopped;
    note = "it was asked to";
  } else if (left == Left::OutOfTime) {
    ending = Ending::CollectorStopped;
    note = "the limit on CPU time (ulimit -t) leaves the collector no more";
  } else if (left == Left::Handed) {
    ending = Ending::CollectorStopped;
    note = "the program that it started is recorded instead";
  }
  // The events are worth more than how it ended: they come first.
  if (left == Left::Stopped || left == Left::Handed || left == Left::OutOfTime)
    recording.break_off();
  else
    recording.drain();
  if (ending == Ending::Unknown) {
    end.await_status(kStatusPatienceMs);
    if (const auto status = end.wait_status()) {
      if (WIFEXITED(*status)) ending = Ending::Exited, detail = WEXITSTATUS(*status);
      if (WIFSIGNALED(*status)) ending = Ending::Killed, detail = WTERMSIG(*status);
    }
  }
  result.left = left;
  take_unseen(recording, result);
  result.summary = recording.finish(ending, detail, note);
  result.cpu_samples = recording.cpu_samples();
  result.memory_errors = recording.memory_errors();
  result.remarks = unseen_functions(options_, recording.pool_functions());
  recording.contents().program_ended(ending, detail);
  for (const std::string& sentence : recording.contents().troubles()) result.remarks.push_back(sentence);
  if (!recording.python_remark().empty()) result.remarks.push_back(recording.python_remark());
  if (result.problem.empty() && recording.failed()) {
    result.problem = "the tape is incomplete: " + recording.sink().error()->sentence;
  }
  const auto reason = static_cast<wire::OffReason>(memory_.header().off_reason.load(std::memory_order_relaxed));
  if (result.problem.empty()) result.problem = recording.is_written_over() ? kWrittenOver : sentence_for(reason);
  result.whole = result.problem.empty();
  if (left == Left::OutOfTime && result.problem.empty())
    result.problem = "recording stopped: " + note + "; the program goes on";
  result.tape = tape_path_;
  if (writer_) result.tape_fd.reset(::fcntl(writer_->fd(), F_DUPFD_CLOEXEC, 0));
  result.run = run_folder_;
  result.pid = program_;
  result.program = base_name(program_name_);
  result.tape_bytes = writer_ ? writer_->bytes_written() : 0;
  if (watcher_) result.log = watcher_->file();
  result.files = std::move(recording.files());
  result.run_time = std::move(recording.run_time());
  release_program();
  return result;
}

CollectorResult Collector::run(ProgramEnd& end, const Tell& tell) {
  tell_ = tell;
  return wait_for_program(end) ? record(end, tell) : not_attached(end);
}

CollectorResult Collector::run(UniqueFd link, const Tell& tell) {
  ProgramEnd end(std::move(link), [this] { wake(); });
  return run(end, tell);
}

} // namespace heaptape
