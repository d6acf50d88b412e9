#include "collector/recording/recording.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "analysis/index/summary_of.h"
#include "collector/events/event_builder_impl.h"
#include "tape/python_remark.h"
#include "wire/loss_name.h"

namespace heaptape {

namespace {

// Whether the process runs another file than this one, as far as both can be seen.
bool is_other_file(pid_t pid, const std::string& path) {
  struct stat expected {
  }, running{};
  if (::stat(path.c_str(), &expected) != 0) return false;
  if (::stat(("/proc/" + std::to_string(pid) + "/exe").c_str(), &running) != 0) return false;
  return expected.st_dev != running.st_dev || expected.st_ino != running.st_ino;
}

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kUpkeepEvery = 250 * kMs;
constexpr std::uint64_t kFlushEvery = 2000 * kMs;  // how much of a slow program's tape a killed collector may lose
constexpr std::uint64_t kHookPatience = 100 * kMs; // far longer than any hook takes while its thread runs
constexpr std::uint64_t kFlushPatience = 5000 * kMs;
constexpr std::size_t kCpuSamplesPerBlock = 16384;
constexpr std::size_t kEndedThreadsPerBlock = 1024;
constexpr std::size_t kNamesPerUpkeep = 256;
constexpr std::size_t kThreadsPerUpkeep = 1024; // that the kernel is asked for
constexpr std::size_t kMarksPerChunk = 8192;
constexpr std::uint64_t kFewRecords = 64;
constexpr std::uint64_t kQuietAfter = 2000 * kMs;

ClockReading program_clock(const wire::Header& header, bool is_tsc) {
  const ClockReading start{header.clock_base_ticks.load(std::memory_order_relaxed),
                           header.clock_base_monotonic_ns.load(std::memory_order_relaxed)};
  const ClockReading now = TickClock::read(is_tsc);
  return is_plausible(start, now) ? start : now; // it began a moment ago
}

} // namespace

Recording::Recording(const SharedMemory& memory, TapeWriter* writer, RecordingFacts facts)
    : memory_(memory), facts_(std::move(facts)), proc_(facts_.pid),
      stacks_(memory.nodes(), memory.config().node_capacity), modules_(memory.module_log()),
      sink_(writer, stacks_, facts_.max_tape_bytes), rings_(memory, threads_), desk_(memory),
      footprint_(proc_, clock_, sink_, run_time_, memory.header()) {
  make_builder();
  const wire::Header& header = memory.header();
  const bool is_tsc = header.clock_is_tsc.load(std::memory_order_relaxed) != 0;
  clock_.start(is_tsc, program_clock(header, is_tsc), facts_.tape_start_ns);
  sink_.follow(builder_->model().totals());
  builder_->answer_at(desk_);
  contents_ = std::make_unique<RecordedContents>(
      RecordedContents::Parts{facts_.pid, rings_, clock_, threads_, sink_, *builder_,
                              [this]() -> ItemConsumer& { return consumer(); }, [this] { flush(); },
                              facts_.wake ? facts_.wake : [] {}, memory_.header()},
      facts_.snapshots, facts_.snapshot_bounds);
  image_ = proc_.stat();
  tids_are_ours_ = header.pid.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(facts_.pid);
  write_meta(facts_.meta);
  if (facts_.hold_files) {
    files_.hold_executable(executable_, std::move(facts_.executable));
    run_time_ = RunTimeWatch(facts_.pid, meta_["directory"]);
  }
}

// A watcher costs time per event; without one, use the builder that has no hook for it.
void Recording::make_builder() {
  if (facts_.watcher == nullptr) {
    builder_ = std::make_unique<EventBuilder<TapeSink>>(clock_, stacks_, rings_, sink_);
    return;
  }
  watched_ = std::make_unique<WatchedSink>(sink_, stacks_, *facts_.watcher);
  builder_ = std::make_unique<EventBuilder<WatchedSink>>(clock_, stacks_, rings_, *watched_);
  watched_->follow(builder_->marks());
}

void Recording::tell_watcher() {
  watched_->hand_over();
  WatcherWish wish = facts_.watcher->on_round(clock_.plain_us(clock_.now()));
  for (Mark& mark : wish.marks) builder_->marks().add_own(std::move(mark));
  wants_stop_ |= wish.stop_program;
  next_round_ns_ = wish.next_us != 0 ? facts_.tape_start_ns + wish.next_us * 1000 : 0;
}

void Recording::CountOnly::consume(std::span<RingItem> items) {
  for (const RingItem& item : items) {
    if (item.kind() != EventKind::None && item.kind() < EventKind::TapeKinds) ++events;
    if (item.kind() == EventKind::MemoryError) ++memory_errors;
  }
}

void Recording::write_meta(const Meta& known) {
  Meta meta = proc_.facts();
  // A program that calls exec at once (a script's "exec", /usr/bin/env) may have done so before we looked.
  const auto program = known.find("program");
  replaced_early_ = program != known.end() && meta.contains("program") && is_other_file(proc_.pid(), program->second);
  for (const auto& [name, value] : known) {
    if (replaced_early_ && (name == "program" || name == "command"))
      meta[name] = value;
    else
      meta.try_emplace(name, value);
  }
  executable_ = meta["program"];
  if (const auto command = meta.find("command"); command != meta.end()) command_ = command->second;
  sink_.write([&](TapeWriter& writer) { return writer.add_meta(meta); });
  meta_ = std::move(meta);
}

void Recording::add_meta(const Meta& meta) {
  if (!meta.empty()) sink_.write([&](TapeWriter& writer) { return writer.add_meta(meta); });
}

Round Recording::step(std::uint64_t now_ns) {
  clock_.calibrate();
  clock_.believe_until_now();
  const Round round = rings_.round(clock_, consumer());
  if (round.more || round.fullest > kFewRecords) last_records_ns_ = now_ns;
  take_thread_names();
  if (failed()) desk_.close();
  write_modules();
  if (watched_ != nullptr) [[unlikely]]
    tell_watcher();
  if (failed())
    contents_->refuse();
  else
    contents_->serve();
  if (builder_->marks().waiting().size() >= kMarksPerChunk) write_marks();
  keep_house(now_ns, round.more || round.fullest > memory_.config().ring_records / 16);
  return round;
}

bool Recording::is_quiet(std::uint64_t now_ns) const {
  return now_ns >= std::max(last_records_ns_, footprint_.last_busy_ns()) + kQuietAfter;
}

void Recording::catch_up() {
  const std::uint64_t until = clock_.now(), begin_ns = monotonic_ns();
  while (true) {
    clock_.calibrate();
    clock_.believe_until_now();
    const std::uint64_t waited_ns = monotonic_ns() - begin_ns;
    const bool at_once = waited_ns >= kHookPatience;
    const Round round = at_once ? rings_.round_at_once(clock_, consumer()) : rings_.round(clock_, consumer());
    write_modules();
    // A program that allocates without pause always has more; while one is quiet, the time handed over stands still.
    const bool nothing_left = !round.more && (rings_.queued() == 0 || at_once);
    if (nothing_left || rings_.handed_over_until() >= until || waited_ns >= kFlushPatience) return;
    if (!round.more) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

void Recording::flush() {
  catch_up();
  if (failed()) return;
  footprint_.sample();
  run_time_.look(clock_.plain_us(clock_.now()));
  name_threads();
  reap_threads();
  take_thread_names();
  if (watched_ != nullptr) tell_watcher();
  write_waiting();
  write_threads(true);
  footprint_.write_samples();
  footprint_.look_at_all();
  footprint_.write_residency();
}

void Recording::mark(const std::string& name, MarkKind kind) {
  catch_up();
  builder_->marks().add_own(
      {.name = name, .event = builder_->events(), .time_us = clock_.to_us(clock_.now()), .kind = kind});
  flush();
}

Result<std::string> Recording::take_contents(SnapshotTaker::Request request) {
  const std::string name = request.name;
  if (auto asked = contents_->ask(std::move(request)); !asked) return asked.error();
  while (contents_->working() && !failed()) {
    (void)step(monotonic_ns());
    if (auto outcome = contents_->take_outcome(); outcome && outcome->name == name) return std::move(outcome->text);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return Error{ErrorCode::Io, "the snapshot was not finished: the tape takes no more"};
}

LiveRecording Recording::figures() const {
  const HeapTotals& totals = builder_->model().totals();
  LiveRecording figures;
  figures.pid = facts_.pid;
  figures.elapsed_us = clock_.plain_us(clock_.now());
  figures.events = builder_->events();
  figures.live_bytes = totals.live_bytes;
  figures.live_blocks = totals.live_blocks;
  figures.peak_bytes = totals.peak_bytes;
  figures.tape_bytes = sink_.bytes_written();
  return figures;
}

void Recording::keep_house(std::uint64_t now_ns, bool busy) {
  if (footprint_.sample_when_due(now_ns)) run_time_.look(clock_.plain_us(clock_.now()));
  footprint_.look(now_ns, busy);
  // Among the records that wait to be merged may be a thread's name, which is to be written with it.
  const std::size_t most_ended = rings_.queued() == 0 ? kEndedThreadsPerBlock : 16 * kEndedThreadsPerBlock;
  if (threads_.ended().size() >= most_ended) write_threads(false);
  if (builder_->cpu().waiting() >= kCpuSamplesPerBlock) write_cpu();
  if (builder_->odd_calls().waiting() >= kMarksPerChunk) write_odd_calls();
  if (now_ns < next_upkeep_ns_) return;
  next_upkeep_ns_ = now_ns + kUpkeepEvery;
  name_threads();
  reap_threads();
  if ((sink_.events_waiting() == 0 && !builder_->cpu().anything_new()) || next_flush_ns_ == 0)
    next_flush_ns_ = now_ns + kFlushEvery;
  // What was found is to be on the tape if we are killed, too, with the events before it.
  if (now_ns < next_flush_ns_ && !builder_->memory_errors().anything_new()) return;
  next_flush_ns_ = now_ns + kFlushEvery;
  write_waiting();
  if (threads_.count() != threads_written_) write_threads(true);
  footprint_.write_residency();
}

// The events at hand, and what goes with them.
void Recording::write_waiting() {
  sink_.flush();
  write_marks();
  write_cpu();
  write_pools();
  write_forks();
  write_odd_calls();
  if (!failed()) write_memory_errors(); // else at the end, when a few more bytes are tried
  write_crashes();
}

void Recording::write_marks() {
  const std::vector<Mark> marks = builder_->marks().take();
  if (marks.empty()) return;
  sink_.write_stacks(); // the marks' stacks may be new
  sink_.write([&](TapeWriter& writer) { return writer.add_marks(marks); });
}

void Recording::write_cpu() {
  if (!builder_->cpu().anything_new()) return;
  const CpuProfile more = builder_->cpu().take();
  sink_.write_stacks();
  sink_.write([&](TapeWriter& writer) { return writer.add_cpu(more); });
}

void Recording::write_pools() {
  const std::vector<Pool> pools = builder_->pools().take();
  if (!pools.empty()) sink_.write([&](TapeWriter& writer) { return writer.add_pools(pools); });
}

void Recording::write_forks() {
  const std::vector<ForkMade> forks = std::exchange(builder_->forks(), {});
  if (!forks.empty()) sink_.write([&](TapeWriter& writer) { return writer.add_forks(forks); });
}

void Recording::write_odd_calls() {
  if (!builder_->odd_calls().anything_new()) return;
  const OddCalls odd = builder_->odd_calls().take();
  sink_.write_stacks(); // theirs may be new
  sink_.write([&](TapeWriter& writer) { return writer.add_odd_calls(odd); });
}

// Also when nothing was found, so that the tape says that the program was checked.
void Recording::write_memory_errors() {
  ErrorCollector& found = builder_->memory_errors();
  const bool owed = !facts_.check_mode.empty() && !check_mode_written_;
  if (!owed && !found.anything_new()) return;
  MemoryErrors errors = found.take();
  errors.mode = facts_.check_mode;
  check_mode_written_ = true;
  sink_.write_stacks();
  sink_.write([&](TapeWriter& writer) { return writer.add_memory_errors(errors); });
}

void Recording::write_crashes() {
  const std::vector<Crash> crashes = builder_->crashes().take();
  if (crashes.empty()) return;
  sink_.write_stacks();
  sink_.write([&](TapeWriter& writer) { return writer.add_crashes(crashes); });
}

void Recording::write_modules() {
  const std::uint64_t used = memory_.header().module_log_used.load(std::memory_order_relaxed);
  if (used == module_log_seen_) return;
  const std::vector<Module> found = modules_.take_new(used, executable_, clock_);
  if (modules_.position() >= std::min(used, wire::kModuleLogBytes) || modules_.damaged()) module_log_seen_ = used;
  if (facts_.hold_files)
    for (const Module& module : found) files_.hold(module);
  if (found.empty()) return;
  if (python_remark_.empty()) python_remark_ = heaptape::python_remark(found, meta_);
  if (facts_.watcher != nullptr) facts_.watcher->on_modules(found);
  sink_.write([&](TapeWriter& writer) { return writer.add_modules(found); });
}

Thread Recording::describe(ThreadId id, const ThreadList::Known& known, std::uint64_t ended_us) const {
  // The kernel knows where the main thread's stack begins, as long as the program lives.
  const bool is_main = known.tid == memory_.header().pid.load(std::memory_order_relaxed);
  const bool ask_kernel = is_main && image_ && image_->start_stack != 0;
  const std::uint64_t stack_top = ask_kernel ? image_->start_stack : known.stack_top;
  return Thread{id, known.tid, known.name, clock_.plain_us(known.first_ticks), ended_us, stack_top};
}

// Those that ended; with `all` also those that live.
void Recording::write_threads(bool all) {
  std::vector<Thread> list;
  for (const ThreadList::Ended& ended : threads_.ended()) {
    list.push_back(describe(ended.id, ended.thread, clock_.plain_us(ended.ticks)));
  }
  threads_.ended().clear();
  if (all) {
    for (const auto& [id, known] : threads_.live()) list.push_back(describe(ThreadId(id), known, 0));
    threads_written_ = threads_.count();
  }
  if (!list.empty()) sink_.write([&](TapeWriter& writer) { return writer.add_threads(list); });
}

void Recording::name_threads() {
  std::size_t left = kNamesPerUpkeep;
  for (auto& [id, known] : threads_.live()) {
    if (known.tid == 0 || known.named) continue;
    if (left-- == 0) break;
    if (std::string name = proc_.thread_name(known.tid); !name.empty()) known.name = std::move(name);
  }
}

void Recording::take_thread_names() {
  for (MarkCollector::ThreadName& given : builder_->marks().take_thread_names()) {
    using From = ThreadList::NameFrom;
    threads_.name(given.thread, std::move(given.name), given.of_kernel ? From::Kernel : From::Program);
    threads_written_ = 0; // those on the tape have the old name
  }
}

void Recording::reap_threads() {
  if (!tids_are_ours_ || !proc_.has_thread(static_cast<std::uint32_t>(facts_.pid))) return;
  const auto is_gone = [&](std::uint32_t tid) { return !proc_.has_thread(tid); };
  rings_.reap(kThreadsPerUpkeep, is_gone);
  threads_.reap_borrowers(kThreadsPerUpkeep, is_gone);
}

pid_t Recording::parent() const {
  const std::optional<ProcStat> now = proc_.stat();
  return now ? static_cast<pid_t>(now->parent) : 0;
}

bool Recording::program_replaced() const {
  if (replaced_early_) return true;
  const std::optional<ProcStat> now = proc_.stat();
  if (!image_ || !now || now->start_stack == 0) return false;
  return now->start_code != image_->start_code || now->start_stack != image_->start_stack;
}

} // namespace heaptape
