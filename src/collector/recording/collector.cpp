#include "collector/recording/collector.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <filesystem>
#include <new>
#include <utility>

#include "base/path_text.h"
#include "collector/observe/proc_files.h"
#include "collector/observe/unseen_children.h"
#include "collector/options/function_options.h"
#include "collector/options/tape_name.h"

namespace heaptape {

namespace {

constexpr std::uint64_t kUs = 1'000;
constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kShortestRest = 50 * kUs;
constexpr std::uint64_t kLongestRest = 50 * kMs;
constexpr std::uint64_t kReplacedEvery = 100 * kMs;
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
  case wire::OffReason::MapFailed: return "the program could not map the shared memory (address space limit?)";
  case wire::OffReason::Sanitizer: return "the program is a sanitizer build, whose allocator cannot be recorded";
  case wire::OffReason::OwnAllocator: return "the program has its own allocator, which the recorder cannot see";
  case wire::OffReason::WrittenOver: return kWrittenOver;
  }
  return "";
}

} // namespace

// A robust mutex shared between processes; the kernel marks its first word when we die. The thread must never give it
// up.
void hold_life_mutex(wire::Header& header) {
  static_assert(sizeof(pthread_mutex_t) <= sizeof header.collector_mutex);
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  auto* mutex = new (static_cast<void*>(header.collector_mutex)) pthread_mutex_t;
  ::pthread_mutex_init(mutex, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
  ::pthread_mutex_lock(mutex);
}

void prepare_collector_process(const SharedMemory& memory, int keep) {
  ::setsid();
  for (int signal : {SIGINT, SIGHUP, SIGTERM, SIGQUIT, SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2, SIGALRM}) {
    ::signal(signal, SIG_IGN);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_NAME, "heaptape-coll");
  ::prctl(PR_SET_TIMERSLACK, 1000); // ns; the shortest rests would double otherwise

  // The program's pipes must end with the program, not with us.
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere >= 0) {
    ::dup2(nowhere, STDIN_FILENO);
    ::dup2(nowhere, STDOUT_FILENO);
  }
  int kept[2] = {std::min(keep, memory.fd()), std::max(keep, memory.fd())};
  int from = 3;
  for (int fd : kept) {
    if (fd < from) continue;
    if (fd > from) ::syscall(SYS_close_range, from, fd - 1, 0);
    from = fd + 1;
  }
  ::syscall(SYS_close_range, from, UINT_MAX, 0);

  hold_life_mutex(memory.header());
}

Collector::Collector(const CollectorOptions& options, SharedMemory memory, pid_t program, std::string program_name,
                     ProgramOrigin origin)
    : options_(options), memory_(std::move(memory)), program_(program), program_name_(std::move(program_name)),
      origin_(std::move(origin)) {
  if (options.finish && !options.program.empty()) executable_ = open_regular_file(options.program);
}

Result<> Collector::create_tape(pid_t program_pid) {
  tape_start_ns_ = monotonic_ns();
  const std::uint64_t wall_ns = tape_start_realtime_ns_ = realtime_ns();
  const TapeNameFacts facts{static_cast<std::uint32_t>(program_pid), program_name_,
                            static_cast<std::time_t>(wall_ns / 1'000'000'000)};
  if (options_.write_tape) {
    Result<TapeWriter> writer = heaptape::create_tape(options_, facts, wall_ns);
    if (!writer.ok()) return writer.error();
    writer_.emplace(std::move(writer).value());
    tape_path_ = writer_->path();
  }
  const Result<> watched = create_watcher({.pid = program_pid,
                                           .name = program_name_,
                                           .path = options_.program,
                                           .command = options_.command,
                                           .start_realtime_ns = wall_ns,
                                           .tell = [this](const std::string& text) {
                                             if (tell_) tell_(text);
                                           }});
  if (!watched.ok()) {
    if (writer_) ::unlink(tape_path_.c_str());
    writer_.reset();
    return watched.error();
  }
  created_ = true;
  leave_word();
  // Before the program runs, so that anyone who sees it can ask. A recording without this socket is still a recording.
  if (Result<std::unique_ptr<ControlServer>> opened = ControlServer::open(program_pid, [this] { wake(); })) {
    control_ = std::move(opened).value();
  }
  return Unit{};
}

void Collector::set_door(ExecDoor* door, bool follow_child) {
  door_ = door;
  follow_child_ = follow_child;
}

// For the programs that come after this one.
void Collector::leave_word() {
  wire::Header& header = memory_.header();
  const auto put = [](auto& field, std::string_view text) {
    if (text.size() < sizeof field) std::memcpy(field, text.data(), text.size());
  };
  if (door_ != nullptr) put(header.door, door_->name());
  put(header.tape, base_name(tape_path_));
  header.follow_child = follow_child_ ? 1 : 0;
}

Result<> Collector::create_watcher(const WatchedProgram& program) {
  if (!options_.watch) return Unit{};
  Result<std::unique_ptr<EventWatcher>> watcher = options_.watch(program);
  if (!watcher.ok()) return watcher.error();
  watcher_ = std::move(watcher).value();
  return Unit{};
}

void Collector::wake() {
  wire::Header& header = memory_.header();
  header.wake.fetch_add(1, std::memory_order_release);
  futex_wake_all(header.wake);
}

void Collector::sleep(std::uint64_t ns) {
  wire::Header& header = memory_.header();
  const std::uint32_t seen = header.wake.load(std::memory_order_acquire);
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
    sleep(rest);
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
  result.problem = "nothing was recorded: " +
                   (why.empty() ? program_name_ + " did not load the recorder (is it static, or set-user-ID?)" : why);
  return result;
}

void Collector::release_program() {
  wire::Header& header = memory_.header();
  header.collector_state.store(wire::kCollectorDone, std::memory_order_release);
  header.drained.fetch_add(1, std::memory_order_release);
  futex_wake_all(header.drained);
}

Meta Collector::known_facts() const {
  Meta meta;
  meta["heaptape"] = HEAPTAPE_VERSION;
  if (!options_.options_text.empty()) meta["options"] = options_.options_text;
  if (!options_.command.empty()) meta["command"] = options_.command;
  if (!options_.program.empty()) meta["program"] = options_.program;
  meta["name"] = base_name(program_name_);
  meta["start_monotonic_ns"] = std::to_string(tape_start_ns_);
  if (origin_.started_by == wire::StartedBy::User) return meta;
  meta["started_by"] = origin_.started_by == wire::StartedBy::Fork   ? "fork"
                       : origin_.started_by == wire::StartedBy::Exec ? "exec"
                                                                     : "spawn";
  if (origin_.parent != 0) meta["parent_pid"] = std::to_string(origin_.parent);
  if (!origin_.parent_tape.empty()) meta["parent_tape"] = origin_.parent_tape;
  if (origin_.started_ns != 0) meta["started_monotonic_ns"] = std::to_string(origin_.started_ns);
  return meta;
}

// How long nothing needs to be done: until the fullest ring is about a third full, going by the time since the last
// look. The program wakes us if that was too long.
std::uint64_t Collector::rest_after(const Round& round, std::uint64_t since_last_ns) {
  const std::uint64_t capacity = memory_.config().ring_records;
  if (round.more || round.fullest > capacity / 4) return last_rest_ns_ = 0;
  const std::uint64_t until_third = since_last_ns * (capacity / 3) / std::max<std::uint64_t>(round.fullest, 1);
  const std::uint64_t longest = std::clamp(last_rest_ns_ * 2, kMs, kLongestRest);
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
  }
  ControlReply reply;
  if (request.ask != ControlAsk::Info && recording.failed()) {
    reply.refusal = "the tape can take no more: " + recording.sink().error()->sentence;
  }
  reply.recording = recording.figures();
  reply.recording.collector = ::getpid();
  reply.recording.started_realtime_ns = tape_start_realtime_ns_;
  reply.recording.program = recording.executable();
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
  while (!end.gone()) {
    const std::uint64_t now_ns = monotonic_ns();
    const Round round = recording.step(now_ns);
    if (recording.failed() && !result.told) {
      result.problem = "recording stopped: " + recording.sink().error()->sentence;
      result.told = true;
      tell(result.problem);
    }
    serve(recording, desk);
    if (const std::optional<Left> left = see_to_door()) return *left;
    if (stop_asked_ || (options_.should_stop && options_.should_stop())) return Left::Stopped;
    if (recording.wants_stop()) stop_program(end, now_ns);
    std::uint64_t rest = rest_after(round, now_ns - last_ns);
    if (recording.is_awaited(now_ns)) rest = std::min(rest, kShortestRest);
    last_ns = now_ns;
    if (rest == 0) continue;
    if (now_ns >= next_replaced_ns) {
      next_replaced_ns = now_ns + kReplacedEvery;
      if (recording.program_replaced()) return Left::Replaced;
    }
    if (desk.working()) rest = std::min(rest, kMs);
    if (!end.gone()) sleep(rest);
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
                       options_.finish != nullptr && writer_.has_value(), std::move(executable_), watcher_.get()});

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
  } else if (left == Left::Handed) {
    ending = Ending::CollectorStopped;
    note = "the program that it started is recorded instead";
  }
  // The events are worth more than how it ended: they come first.
  if (left == Left::Stopped || left == Left::Handed)
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
  result.remarks = unseen_functions(options_, recording.pool_functions());
  if (result.problem.empty() && recording.failed()) {
    result.problem = "the tape is incomplete: " + recording.sink().error()->sentence;
  }
  const auto reason = static_cast<wire::OffReason>(memory_.header().off_reason.load(std::memory_order_relaxed));
  if (result.problem.empty()) result.problem = recording.is_written_over() ? kWrittenOver : sentence_for(reason);
  result.tape = tape_path_;
  result.tape_bytes = writer_ ? writer_->bytes_written() : 0;
  if (watcher_) result.log = watcher_->file();
  result.files = std::move(recording.files());
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
