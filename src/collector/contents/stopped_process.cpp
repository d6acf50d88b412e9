#include "collector/contents/stopped_process.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "base/system_error.h"
#include "base/unique_fd.h"
#include "collector/observe/maps_text.h"
#include "collector/observe/proc_files.h"
#include "collector/rings/tick_clock.h"

namespace heaptape {

namespace {

constexpr std::uint64_t kStopPatienceUs = 200'000;
constexpr std::uint64_t kCallPatienceUs = 2'000'000; // a clone of a large program may take long
constexpr int kMostLooks = 64;                       // at the list of threads, while new ones appear
constexpr std::size_t kMostExtended = std::size_t{64} << 10;

constexpr std::uint64_t kAllSignals = ~std::uint64_t{0};

using Registers = decltype(ThreadState::registers);

long trace(long request, pid_t tid, std::uint64_t address = 0, std::uint64_t data = 0) {
  return ::syscall(SYS_ptrace, request, tid, address, data);
}

template <class T>
bool get_registers(pid_t tid, std::uint64_t note, T* into, std::size_t& size) {
  iovec room{into, size};
  if (trace(PTRACE_GETREGSET, tid, note, reinterpret_cast<std::uint64_t>(&room)) < 0) return false;
  size = room.iov_len;
  return true;
}

bool get_registers(pid_t tid, Registers& registers) {
  std::size_t size = sizeof registers;
  return get_registers(tid, NT_PRSTATUS, registers.data(), size) && size == sizeof registers;
}

bool set_registers(pid_t tid, Registers& registers) {
  iovec from{registers.data(), sizeof registers};
  return trace(PTRACE_SETREGSET, tid, NT_PRSTATUS, reinterpret_cast<std::uint64_t>(&from)) >= 0;
}

bool get_signal_mask(pid_t tid, std::uint64_t& mask) {
  return trace(PTRACE_GETSIGMASK, tid, sizeof mask, reinterpret_cast<std::uint64_t>(&mask)) >= 0;
}

bool set_signal_mask(pid_t tid, std::uint64_t mask) {
  return trace(PTRACE_SETSIGMASK, tid, sizeof mask, reinterpret_cast<std::uint64_t>(&mask)) >= 0;
}

void rest_a_little() {
  const timespec little{0, 20'000};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &little, nullptr);
}

std::string status_field(pid_t pid, std::string_view name) {
  const std::string text = read_small_file("/proc/" + std::to_string(pid) + "/status");
  const std::size_t at = text.find("\n" + std::string(name) + ":");
  if (at == std::string::npos) return "";
  const std::size_t begin = text.find_first_not_of(" \t", at + name.size() + 2);
  return text.substr(begin, text.find('\n', begin) - begin);
}

Error refusal(pid_t pid, int error) {
  const std::string tracer = status_field(pid, "TracerPid");
  if (!tracer.empty() && tracer != "0")
    return {ErrorCode::Denied,
            "a debugger or tracer (process " + tracer + ") holds the program; detach it and try again"};
  if (error != EPERM) return {ErrorCode::Io, "the program cannot be stopped: " + system_message(error)};
  const std::string yama = read_small_file("/proc/sys/kernel/yama/ptrace_scope");
  if (!yama.empty() && yama[0] >= '2')
    return {ErrorCode::Denied, "this system allows nobody to look into other programs (kernel.yama.ptrace_scope is " +
                                   yama.substr(0, 1) + "); an administrator can set it to 1"};
  return {ErrorCode::Denied,
          "heaptape may not look into the program (ptrace is refused); run it as the same user, and in a container "
          "with the right SYS_PTRACE"};
}

std::vector<pid_t> list_threads(pid_t pid) {
  std::vector<pid_t> threads;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(("/proc/" + std::to_string(pid) + "/task").c_str()),
                                                   &::closedir);
  if (!folder) return threads;
  while (const dirent* entry = ::readdir(folder.get())) {
    pid_t tid = 0;
    const std::string_view name = entry->d_name;
    if (std::from_chars(name.data(), name.data() + name.size(), tid).ec == std::errc() && tid > 0)
      threads.push_back(tid);
  }
  return threads;
}

bool has_ended(pid_t pid, pid_t tid) {
  const auto stat =
      parse_proc_stat(read_small_file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/stat"));
  return !stat || stat->state == 'Z' || stat->state == 'X';
}

// A seccomp filter.
bool has_filter(pid_t pid, pid_t tid) {
  const std::string text = read_small_file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/status");
  const std::size_t at = text.find("\nSeccomp:");
  return at == std::string::npos || text.find_first_of("12", at) < text.find('\n', at + 1);
}

} // namespace

StoppedProcess::StoppedProcess(StoppedProcess&& other) noexcept
    : pid_(other.pid_), threads_(std::exchange(other.threads_, {})), unstopped_(std::exchange(other.unstopped_, {})),
      call_instruction_(other.call_instruction_), calls_(other.calls_) {}

Result<> StoppedProcess::seize(pid_t tid, std::vector<pid_t>& fresh) {
  if (trace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD) < 0) {
    const int error = errno;
    if (error == ESRCH || has_ended(pid_, tid)) return Unit{}; // meanwhile
    return refusal(pid_, error);
  }
  trace(PTRACE_INTERRUPT, tid);
  fresh.push_back(tid);
  return Unit{};
}

Result<StoppedProcess> StoppedProcess::stop(pid_t pid, RepeatedCalls& calls) {
  StoppedProcess process(pid, calls);
  std::vector<pid_t> known;
  // A thread may start another one before it stops itself: until a look at the list shows nothing new.
  for (int looks = 0; looks < kMostLooks; ++looks) {
    std::vector<pid_t> fresh, now = list_threads(pid);
    std::erase_if(now, [&](pid_t tid) { return std::ranges::find(known, tid) != known.end(); });
    if (now.empty()) break;
    for (const pid_t tid : now) {
      if (auto seized = process.seize(tid, fresh); !seized) return seized.error();
      known.push_back(tid);
    }
    process.wait_for(std::move(fresh));
  }
  if (process.threads_.empty())
    return Error{ErrorCode::NotFound,
                 has_ended(pid, pid) ? "the program has ended" : "no thread of the program could be stopped"};
  process.take_signal_first();
  return process;
}

Result<StoppedProcess> StoppedProcess::stop_one_thread(pid_t pid, RepeatedCalls& calls) {
  StoppedProcess process(pid, calls);
  for (const pid_t tid : list_threads(pid)) {
    std::vector<pid_t> fresh;
    if (auto seized = process.seize(tid, fresh); !seized) return seized.error();
    process.wait_for(std::move(fresh));
    if (process.threads_.empty()) continue;
    process.take_signal_first();
    return process;
  }
  return Error{ErrorCode::NotFound, "no thread of the program could be stopped"};
}

// A thread that stopped for a signal must take it before it does calls for us: the kernel would forget it. It stops again before it runs.
void StoppedProcess::take_signal_first() {
  Stopped& thread = threads_.front();
  if (thread.signal == 0) return;
  const int signal = std::exchange(thread.signal, 0);
  trace(PTRACE_INTERRUPT, thread.tid);
  if (trace(PTRACE_CONT, thread.tid, 0, static_cast<std::uint64_t>(signal)) < 0) return;
  if (!wait_for_stop(thread, kStopPatienceUs)) give_up(thread.tid);
}

void StoppedProcess::give_up(pid_t tid) {
  std::erase_if(threads_, [&](const Stopped& each) { return each.tid == tid; });
  if (!has_ended(pid_, tid)) unstopped_.push_back(tid);
}

void StoppedProcess::wait_for(std::vector<pid_t> fresh) {
  const std::uint64_t until_ns = monotonic_ns() + kStopPatienceUs * 1000;
  while (!fresh.empty()) {
    std::erase_if(fresh, [&](pid_t tid) {
      int status = 0;
      const pid_t got = ::waitpid(tid, &status, __WALL | WNOHANG);
      if (got == 0) return false;
      if (got < 0) return errno != EINTR;
      if (WIFSTOPPED(status)) threads_.push_back({tid, status >> 16 == 0 ? WSTOPSIG(status) : 0, status >> 16});
      return true; // or it has ended
    });
    if (fresh.empty()) return;
    if (monotonic_ns() >= until_ns) break;
    rest_a_little();
  }
  unstopped_.insert(unstopped_.end(), fresh.begin(), fresh.end());
}

bool StoppedProcess::wait_for_stop(Stopped& thread, std::uint64_t most_us) {
  const std::uint64_t until_ns = monotonic_ns() + most_us * 1000;
  while (true) {
    int status = 0;
    const pid_t got = ::waitpid(thread.tid, &status, __WALL | WNOHANG);
    if (got == thread.tid) {
      thread.event = status >> 16;
      ++thread.stops;
      thread.signal = WIFSTOPPED(status) && thread.event == 0 ? WSTOPSIG(status) : 0;
      return WIFSTOPPED(status);
    }
    if ((got < 0 && errno != EINTR) || monotonic_ns() >= until_ns) return false;
    rest_a_little();
  }
}

std::vector<ThreadState> StoppedProcess::states() const {
  std::vector<ThreadState> states;
  std::vector<std::byte> extended(kMostExtended);
  for (const Stopped& thread : threads_) {
    ThreadState state{.tid = static_cast<std::uint32_t>(thread.tid),
                      .signal = static_cast<std::uint32_t>(thread.signal)};
    state.stopped = get_registers(thread.tid, state.registers);
    std::size_t size = extended.size();
    if (state.stopped && get_registers(thread.tid, NT_X86_XSTATE, extended.data(), size))
      state.extended.assign(extended.begin(), extended.begin() + static_cast<std::ptrdiff_t>(size));
    states.push_back(std::move(state));
  }
  for (const pid_t tid : unstopped_) states.push_back({.tid = static_cast<std::uint32_t>(tid), .stopped = false});
  return states;
}

bool StoppedProcess::let_run(pid_t tid, std::uint64_t us) {
  const auto thread = std::ranges::find_if(threads_, [&](const Stopped& each) { return each.tid == tid; });
  if (thread == threads_.end()) return false;
  if (trace(PTRACE_CONT, tid, 0, static_cast<std::uint64_t>(std::exchange(thread->signal, 0))) < 0) return false;
  const timespec while_it_runs{0, static_cast<long>(std::min<std::uint64_t>(us, 100'000) * 1000)};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &while_it_runs, nullptr);
  trace(PTRACE_INTERRUPT, tid);
  if (wait_for_stop(*thread, kStopPatienceUs)) return true;
  give_up(tid);
  return false;
}

// Any will do; the vdso has one.
bool StoppedProcess::find_call_instruction() {
  if (call_instruction_ != 0) return true;
  MapNames names;
  MapsText text;
  const pid_t pid = threads_.front().tid;
  text.add(read_small_file("/proc/" + std::to_string(pid) + "/maps"), names);
  for (const MappedRange& range : text.take()) {
    if (names[range.name] != "[vdso]") continue;
    std::vector<unsigned char> code(std::min<std::uint64_t>(range.end - range.begin, std::uint64_t{64} << 10));
    iovec to{code.data(), code.size()}, from{reinterpret_cast<void*>(range.begin), code.size()};
    if (::process_vm_readv(pid, &to, 1, &from, 1, 0) != static_cast<ssize_t>(code.size())) return false;
    constexpr unsigned char kSyscall[] = {0x0f, 0x05};
    const auto found = std::search(code.begin(), code.end(), std::begin(kSyscall), std::end(kSyscall));
    if (found != code.end()) call_instruction_ = range.begin + static_cast<std::uint64_t>(found - code.begin());
  }
  return call_instruction_ != 0;
}

// The thread's own registers and signal mask are back before this returns, in a stop in which the kernel decides whether an interrupted call is
// resumed. If we die before, the thread goes on as it was, but for the moment of the call itself.
long StoppedProcess::call(long number, std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d,
                          std::uint64_t e, std::uint64_t f) {
  if (threads_.empty() || !find_call_instruction()) return -ENOSYS;
  Stopped& thread = threads_.front();
  if (has_filter(pid_, thread.tid)) return -EPERM;
  Registers own;
  std::uint64_t own_mask = 0;
  // A signal that comes meanwhile waits, as it would for a thread that blocks it.
  if (!get_registers(thread.tid, own) || !get_signal_mask(thread.tid, own_mask) ||
      !set_signal_mask(thread.tid, kAllSignals))
    return -errno;
  using R = ThreadState;
  Registers registers = own;
  registers[R::Rip] = call_instruction_;
  registers[R::Rax] = static_cast<std::uint64_t>(number);
  registers[R::OrigRax] = ~std::uint64_t{0}; // nothing is to be restarted
  registers[R::Rdi] = a;
  registers[R::Rsi] = b;
  registers[R::Rdx] = c;
  registers[R::R10] = d;
  registers[R::R8] = e;
  registers[R::R9] = f;
  long result = -ESRCH;
  if (set_registers(thread.tid, registers) && run_to_the_end_of_a_call(thread)) {
    result = get_registers(thread.tid, registers) ? static_cast<long>(registers[R::Rax]) : -errno;
    trace(PTRACE_INTERRUPT, thread.tid);
  }
  (void)set_registers(thread.tid, own);
  (void)set_signal_mask(thread.tid, own_mask);
  if (trace(PTRACE_CONT, thread.tid) < 0 || !wait_for_stop(thread, kStopPatienceUs)) give_up(thread.tid);
  return result;
}

// Into the call and out of it.
bool StoppedProcess::run_to_the_end_of_a_call(Stopped& thread) {
  constexpr int kCallStop = SIGTRAP | 0x80;
  int signal = 0; // SIGSTOP cannot be blocked
  for (int stops = 0, entered = 0; stops < 100 && entered < 2; ++stops) {
    if (trace(PTRACE_SYSCALL, thread.tid, 0, static_cast<std::uint64_t>(std::exchange(signal, 0))) < 0 ||
        !wait_for_stop(thread, kCallPatienceUs))
      return false;
    if (thread.event == PTRACE_EVENT_CLONE || thread.event == PTRACE_EVENT_FORK)
      (void)trace(PTRACE_GETEVENTMSG, thread.tid, 0, reinterpret_cast<std::uint64_t>(&made_));
    else if (thread.signal == kCallStop)
      ++entered;
    else
      signal = thread.signal;
  }
  return thread.signal == kCallStop;
}

StoppedProcess::Twin StoppedProcess::make_twin() {
  if (threads_.empty()) return {};
  const pid_t parent = threads_.front().tid;
  // The twin stops before it does anything, and is ours from then on.
  trace(PTRACE_SETOPTIONS, parent, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK);
  // With shared descriptors a pipe that the program closes is closed; without an exit signal its wait() never sees the twin.
  const long made = call(SYS_clone, CLONE_FILES | CLONE_FS | CLONE_IO);
  trace(PTRACE_SETOPTIONS, parent, 0, PTRACE_O_TRACESYSGOOD);
  if (made < 0) return {};
  // What clone gives is a number of the program's own pid namespace; ours came with the event.
  const auto twin = static_cast<pid_t>(made_ != 0 ? static_cast<long>(made_) : made);
  Stopped waited{.tid = twin};
  if (!wait_for_stop(waited, kCallPatienceUs)) return {};
  trace(PTRACE_SETOPTIONS, twin, 0, PTRACE_O_EXITKILL);
  const UniqueFd victim(::open(("/proc/" + std::to_string(twin) + "/oom_score_adj").c_str(), O_WRONLY | O_CLOEXEC));
  if (victim) (void)!::write(victim.get(), "1000", 4);
  return {twin, static_cast<pid_t>(made)};
}

void StoppedProcess::end_twin(pid_t program, Twin twin, RepeatedCalls& calls) {
  ::kill(twin.pid, SIGKILL);
  while (::waitpid(twin.pid, nullptr, __WALL) < 0 && errno == EINTR) {}
  // It is still a dead child of the program, which does not know of it.
  if (auto parent = stop_one_thread(program, calls))
    parent.value().call(SYS_wait4, static_cast<std::uint64_t>(twin.number), 0, WNOHANG | __WALL);
}

void StoppedProcess::release() {
  for (const Stopped& thread : threads_) {
    Registers registers;
    if (get_registers(thread.tid, registers) && calls_->repeat(pid_, thread.tid, thread.stops, registers))
      (void)set_registers(thread.tid, registers);
  }
  for (const Stopped& thread : threads_) trace(PTRACE_DETACH, thread.tid, 0, static_cast<std::uint64_t>(thread.signal));
  threads_.clear();
}

pid_t living_thread(pid_t pid) {
  if (!has_ended(pid, pid)) return pid;
  const std::vector<pid_t> threads = list_threads(pid);
  const auto alive = std::ranges::find_if(threads, [&](pid_t tid) { return !has_ended(pid, tid); });
  return alive == threads.end() ? pid : *alive;
}

bool has_seccomp(pid_t pid) {
  return std::ranges::any_of(list_threads(pid), [&](pid_t tid) { return has_filter(pid, tid); });
}

} // namespace heaptape
