#include "recorder/core/cpu_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#include <atomic>

#include "recorder/core/busy.h"
#include "recorder/core/capture_interrupted.h"
#include "recorder/core/cpu_timer.h"
#include "recorder/core/events.h"
#include "recorder/core/interrupted_call.h"
#include "recorder/core/kernel_signal.h"
#include "recorder/core/machine.h"
#include "recorder/core/recorder.h"
#include "wire/cpu_record.h"

namespace heaptape::recorder {

namespace {

constexpr int kSignal = 32;
constexpr std::uint64_t kSignalBit = signal_bit(kSignal);

constinit std::atomic<std::uint32_t> g_hz{0};           // 0: no samples are being taken
constinit std::atomic<std::uint32_t> g_segment{0};      // the last one's number
constinit std::atomic<SignalHandler> g_former{nullptr}; // libc's handler, once it has one

bool failed(long result) noexcept { return result < 0 && result > -4096; }

// ------------------------------------------------------------------------------------------------------------- timers

void set_period(long timer, std::uint32_t hz) noexcept {
  const long period_ns = 1'000'000'000L / static_cast<long>(hz);
  // The first one comes at random, so that threads that live for less than a period get their share of samples.
  const long first_ns = static_cast<long>(read_tsc() * 0x9e37'79b9'7f4a'7c15u >> 33) % period_ns + 1;
  itimerspec spec{};
  spec.it_interval = {period_ns / 1'000'000'000L, period_ns % 1'000'000'000L};
  spec.it_value = {first_ns / 1'000'000'000L, first_ns % 1'000'000'000L};
  (void)system_call(SYS_timer_settime, timer, 0, as_long(&spec), 0);
}

// A timer on the CPU time of a thread of this process; negative: the kernel has none to give.
long make_timer(std::uint32_t tid, std::uint32_t hz) noexcept {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = kSignal;
  event.sigev_value.sival_ptr = &g_hz; // by which the handler knows it
  event._sigev_un._tid = static_cast<int>(tid);
  constexpr int kOfThread = 4, kScheduled = 2; // how the kernel writes "CPU time of the thread with this id"
  const long clock = static_cast<int>(~tid << 3) | kOfThread | kScheduled;
  int timer = -1;
  if (failed(system_call(SYS_timer_create, clock, as_long(&event), as_long(&timer)))) return -1;
  set_period(timer, hz);
  return timer;
}

// Gives a thread a timer, or the timer that it has a new period. `thread` is null when it has recorded nothing yet; then
// the handler notes the timer at the first sample.
void arm(ThreadState* thread, std::uint32_t tid, std::uint32_t hz) noexcept {
  if (thread != nullptr && thread->cpu_timer != 0) return set_period(thread->cpu_timer - 1, hz);
  const long timer = make_timer(tid, hz);
  if (timer < 0) return count_loss(wire::Loss::CpuThreads);
  if (thread != nullptr) thread->cpu_timer = static_cast<std::int32_t>(timer) + 1;
}

// Calls visit(tid) for every thread of the process.
template <class Visit>
void each_task(Visit visit) noexcept {
  struct Entry { // as getdents64 gives it
    std::uint64_t inode;
    std::int64_t offset;
    std::uint16_t size;
    std::uint8_t type;
    char name[1];
  };
  const long folder = system_call(SYS_open, as_long("/proc/self/task"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (failed(folder)) return;
  alignas(8) char buffer[1024];
  for (;;) {
    const long bytes = system_call(SYS_getdents64, folder, as_long(buffer), sizeof buffer);
    if (bytes <= 0) break;
    for (long at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
      std::uint32_t tid = 0;
      for (const char* c = entry->name; *c >= '0' && *c <= '9'; ++c)
        tid = tid * 10 + static_cast<std::uint32_t>(*c - '0');
      if (tid != 0) visit(tid);
      at += entry->size;
    }
  }
  (void)system_call(SYS_close, folder);
}

// ------------------------------------------------------------------------------------------------------------ handler

void pass_on(int signal, siginfo_t* info, void* context) noexcept {
  const SignalHandler former = g_former.load(std::memory_order_acquire);
  if (former == nullptr) return;
  // It may never return: then it must not have left all signals blocked.
  const auto& interrupted = *static_cast<const ucontext_t*>(context);
  std::uint64_t mask = interrupted.uc_sigmask.__val[0] | kSignalBit;
  (void)system_call(SYS_rt_sigprocmask, SIG_SETMASK, as_long(&mask), 0, sizeof mask);
  former(signal, info, context);
}

void take_sample(const siginfo_t& info, const ucontext_t& context) noexcept {
  const std::int32_t timer = info.si_timerid + 1;
  const auto at = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RSP]);
  const bool wanted = is_profiling() && is_attached() && !in_sandbox();
  ThreadState* thread = wanted ? join_thread({0, at, 0}, Caller::Handler) : nullptr;
  if (thread == nullptr || (thread->cpu_timer != 0 && thread->cpu_timer != timer)) {
    // Samples are no longer wanted, there is no room for the thread, or it was given two timers at once.
    (void)system_call(SYS_timer_delete, info.si_timerid);
    if (ThreadState* const mine = known_thread(); mine != nullptr && mine->cpu_timer == timer) mine->cpu_timer = 0;
    return;
  }
  thread->cpu_timer = timer;
  const auto weight = 1 + static_cast<std::uint64_t>(info.si_overrun > 0 ? info.si_overrun : 0);
  if (!has_room(*thread)) {
    if (is_attached()) count_loss(wire::Loss::CpuSamples);
    return;
  }
  const auto sample = [&] {
    const std::uint32_t stack = capture_interrupted(*thread, context);
    const std::uint32_t segment = g_segment.load(std::memory_order_relaxed);
    (void)put(*thread, EventKind::CpuSample, wire::cpu_address(wire::CpuRecord::Sample, segment), weight, stack);
  };
  if (is_busy(*thread)) return sample(); // a hook was interrupted; it ends what it began
  const Busy busy(*thread, thread->entry_slot);
  sample();
}

void on_signal(int signal, siginfo_t* info, void* context) noexcept {
  if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &g_hz) return pass_on(signal, info, context);
  auto& interrupted = *static_cast<ucontext_t*>(context);
  take_sample(*info, interrupted);
  repeat_interrupted_call(interrupted, kSignal);
}

} // namespace

void restore_cpu_handler() noexcept {
  KernelAction now{};
  if (!get_action(kSignal, now) || now.handler == on_signal) return;
  const bool is_handler = reinterpret_cast<std::uint64_t>(now.handler) > 1; // neither default nor ignored
  g_former.store(is_handler ? now.handler : nullptr, std::memory_order_release);
  // The signal stack, if there is one: the thread's own may be that of a small coroutine.
  (void)set_action(kSignal, handler_action(on_signal));
}

bool is_profiling() noexcept { return g_hz.load(std::memory_order_relaxed) != 0; }

namespace {

void note(wire::CpuRecord what, std::uint32_t segment, std::uint64_t value, const Frame& site) noexcept {
  (void)record(EventKind::CpuSample, wire::cpu_address(what, segment), value, site, true);
}

void begin_segment(std::uint32_t hz, const Frame& site) noexcept {
  const std::uint32_t segment = g_segment.fetch_add(1, std::memory_order_relaxed) + 1;
  note(wire::CpuRecord::Begin, segment, hz, site);
  g_hz.store(hz, std::memory_order_release);
}

// False: none is under way.
bool end_segment(const Frame& site) noexcept {
  if (g_hz.exchange(0, std::memory_order_acq_rel) == 0) return false;
  note(wire::CpuRecord::End, g_segment.load(std::memory_order_relaxed), 0, site);
  return true;
}

} // namespace

void start_cpu_profile(std::uint32_t hz, const Frame& site) noexcept {
  if (!is_attached() || in_sandbox() || hz == 0) return;
  if (hz > wire::kMostCpuHz) hz = wire::kMostCpuHz;
  (void)end_segment(site);
  restore_cpu_handler();
  ThreadState* const own = join_thread(site, Caller::Code);
  begin_segment(hz, site);
  const std::uint32_t tid = own != nullptr ? own->tid : static_cast<std::uint32_t>(system_call(SYS_gettid));
  if (own != nullptr) arm(own, tid, hz);
  each_task([&](std::uint32_t other) {
    if (other != tid) arm(thread_with(other), other, hz);
  });
}

void next_cpu_segment(const Frame& site) noexcept {
  const std::uint32_t hz = g_hz.load(std::memory_order_relaxed);
  if (is_attached() && end_segment(site)) begin_segment(hz, site);
}

void stop_cpu_profile(const Frame& site) noexcept {
  if (is_attached()) (void)end_segment(site);
}

void stop_cpu_profile_for_sandbox(const Frame& site) noexcept {
  if (!is_attached() || !end_segment(site)) return;
  each_thread([](ThreadState& thread) { drop_timer(thread); });
}

void arm_cpu_timer(ThreadState& thread) noexcept {
  const std::uint32_t hz = g_hz.load(std::memory_order_relaxed);
  if (hz != 0 && thread.cpu_timer == 0 && thread.tid != 0 && !in_sandbox()) arm(&thread, thread.tid, hz);
}

void reset_cpu_profile() noexcept {
  g_hz.store(0, std::memory_order_relaxed);
  g_segment.store(0, std::memory_order_relaxed);
}

} // namespace heaptape::recorder
