#include "recorder/hooks/limit_hooks.h"

#include <errno.h>
#include <sys/syscall.h>

#include <atomic>

#include "recorder/core/machine.h"
#include "recorder/core/readable.h"
#include "recorder/core/slots.h"
#include "recorder/hooks/hook.h"
#include "recorder/hooks/real.h"

namespace heaptape::recorder {

namespace {

// One number of a limit as the kernel has it, and as the program set it. Children of fork inherit both; when the kernel's is another
// one, somebody else has set it and it is shown as it is. 0: nothing was set.
struct Raised {
  std::atomic<std::uint64_t> kernel{0};
  std::atomic<std::uint64_t> believed{0};

  void set(std::uint64_t in_kernel, std::uint64_t by_program) noexcept {
    kernel.store(0, std::memory_order_relaxed);
    believed.store(by_program, std::memory_order_relaxed);
    kernel.store(in_kernel != by_program ? in_kernel : 0, std::memory_order_release); // pairs with shown()
  }
  std::uint64_t shown(std::uint64_t in_kernel) const noexcept {
    if (kernel.load(std::memory_order_acquire) != in_kernel || in_kernel == 0) return in_kernel;
    return believed.load(std::memory_order_relaxed);
  }
};

// Address space that the recorder has taken for threads beyond the first ones.
std::uint64_t scratch_mapped_later() noexcept {
  const std::uint32_t ready = g_slots.ready.load(std::memory_order_relaxed);
  return ready > kSlotsPerPiece ? std::uint64_t{ready - kSlotsPerPiece} * wire::kScratchBytes : 0;
}

struct Limit {
  int resource;
  std::atomic<std::uint64_t> held{0}; // of what it counts, by the recorder, scratch that was mapped later aside
  Raised soft{};
  Raised hard{};

  rlimit shown(const rlimit& in_kernel) const noexcept {
    return {soft.shown(in_kernel.rlim_cur), hard.shown(in_kernel.rlim_max)};
  }
  std::uint64_t raise(std::uint64_t value) const noexcept {
    const std::uint64_t more =
        held.load(std::memory_order_relaxed) + (resource == RLIMIT_AS ? scratch_mapped_later() : 0);
    return value < RLIM_INFINITY - more ? value + more : RLIM_INFINITY;
  }
};

constinit Limit g_limits[] = {{RLIMIT_AS}, {RLIMIT_DATA}};

Limit* find_limit(pid_t pid, int resource) noexcept {
  for (Limit& limit : g_limits) {
    if (limit.resource != resource || limit.held.load(std::memory_order_relaxed) == 0) continue;
    return pid == 0 || pid == system_call(SYS_getpid) ? &limit : nullptr;
  }
  return nullptr;
}

long kernel_limit(pid_t pid, int resource, const rlimit* wanted, rlimit* old) noexcept {
  return system_call(SYS_prlimit64, pid, resource, as_long(wanted), as_long(old));
}

// As prlimit on this process; the result is the kernel's.
long change(Limit& limit, const rlimit* wanted, rlimit* old) noexcept {
  rlimit now{};
  if (const long failed = kernel_limit(0, limit.resource, nullptr, &now); failed != 0) return failed;
  const rlimit before = limit.shown(now);
  if (wanted != nullptr) {
    const rlimit asked = *wanted;
    rlimit raised{limit.raise(asked.rlim_cur), limit.raise(asked.rlim_max)};
    if (asked.rlim_cur > asked.rlim_max) raised = asked; // the kernel refuses it
    long result = kernel_limit(0, limit.resource, &raised, nullptr);
    // Lowering the hard limit is everybody's right; above the kernel's we may not go for that.
    if (result == -EPERM && asked.rlim_max <= before.rlim_max) {
      raised.rlim_max = now.rlim_max;
      if (raised.rlim_cur > raised.rlim_max) raised.rlim_cur = raised.rlim_max;
      result = kernel_limit(0, limit.resource, &raised, nullptr);
    }
    if (result != 0) return result;
    limit.soft.set(raised.rlim_cur, asked.rlim_cur);
    limit.hard.set(raised.rlim_max, asked.rlim_max);
  }
  if (old != nullptr) *old = before;
  return 0;
}

// exec runs under the lowered limit, and a stack that has to grow there would be the end.
[[gnu::noinline]] void grow_stack() noexcept {
  constexpr std::size_t kBytes = 32 * 1024; // execvp puts a path onto it
  char room[kBytes];
  for (std::size_t i = 0; i < kBytes; i += 4096) room[kBytes - 1 - i] = 0;
  asm volatile("" : : "r"(room) : "memory");
}

} // namespace

void note_held_memory(std::uint64_t shared_bytes, std::uint64_t private_bytes) noexcept {
  g_limits[0].held.store(shared_bytes + private_bytes, std::memory_order_relaxed);
  g_limits[1].held.store(private_bytes, std::memory_order_relaxed);
}

bool limits_are_raised() noexcept {
  for (const Limit& limit : g_limits) {
    if ((limit.soft.kernel.load(std::memory_order_relaxed) | limit.hard.kernel.load(std::memory_order_relaxed)) != 0)
      return true;
  }
  return false;
}

LimitsForNextProgram::LimitsForNextProgram(bool will_run) noexcept {
  static_assert(kLimits == sizeof g_limits / sizeof g_limits[0]);
  if (!will_run || !limits_are_raised()) return;
  grow_stack();
  for (std::size_t i = 0; i < kLimits; ++i) {
    if (kernel_limit(0, g_limits[i].resource, nullptr, &before_[i]) != 0) continue;
    const rlimit believed = g_limits[i].shown(before_[i]);
    if (believed.rlim_cur == before_[i].rlim_cur && believed.rlim_max == before_[i].rlim_max) continue;
    lowered_[i] = kernel_limit(0, g_limits[i].resource, &believed, nullptr) == 0;
  }
}

LimitsForNextProgram::~LimitsForNextProgram() noexcept {
  for (std::size_t i = 0; i < kLimits; ++i) {
    if (!lowered_[i] || kernel_limit(0, g_limits[i].resource, &before_[i], nullptr) == 0) continue;
    rlimit now{};
    (void)kernel_limit(0, g_limits[i].resource, nullptr, &now);
    now.rlim_cur = now.rlim_max;
    (void)kernel_limit(0, g_limits[i].resource, &now, nullptr);
  }
}

void lower_limits_of(pid_t child) noexcept {
  if (!limits_are_raised()) return;
  for (const Limit& limit : g_limits) {
    rlimit now{};
    if (kernel_limit(child, limit.resource, nullptr, &now) != 0) continue;
    const rlimit believed = limit.shown(now);
    if (believed.rlim_cur == now.rlim_cur && believed.rlim_max == now.rlim_max) continue;
    (void)kernel_limit(child, limit.resource, &believed, nullptr);
  }
}

} // namespace heaptape::recorder

using namespace heaptape::recorder;

namespace {

int get_limit(int resource, rlimit* limit) noexcept {
  if (g_real.getrlimit == nullptr) find_real_functions();
  const int result = g_real.getrlimit(resource, limit);
  if (const Limit* ours = find_limit(0, resource); ours != nullptr && result == 0) *limit = ours->shown(*limit);
  return result;
}

int set_limit(int resource, const rlimit* limit) noexcept {
  if (g_real.setrlimit == nullptr) find_real_functions();
  Limit* const ours = in_sandbox() ? nullptr : find_limit(0, resource);
  if (ours == nullptr) return g_real.setrlimit(resource, limit);
  return as_libc_result(change(*ours, limit, nullptr));
}

int set_and_get_limit(pid_t pid, int resource, const rlimit* limit, rlimit* old) noexcept {
  if (g_real.prlimit == nullptr) find_real_functions();
  Limit* const ours = in_sandbox() ? nullptr : find_limit(pid, resource);
  if (ours == nullptr) return g_real.prlimit(pid, resource, limit, old);
  return as_libc_result(change(*ours, limit, old));
}

// On a 64-bit machine the functions with 64 in their names are the same ones.
static_assert(sizeof(rlimit64) == sizeof(rlimit));
rlimit* plain(rlimit64* limit) noexcept { return reinterpret_cast<rlimit*>(limit); }
const rlimit* plain(const rlimit64* limit) noexcept { return reinterpret_cast<const rlimit*>(limit); }

} // namespace

HT_HOOK int getrlimit(int resource, rlimit* limit) { return get_limit(resource, limit); }
HT_HOOK int getrlimit64(int resource, rlimit64* limit) { return get_limit(resource, plain(limit)); }
HT_HOOK int setrlimit(int resource, const rlimit* limit) { return set_limit(resource, limit); }
HT_HOOK int setrlimit64(int resource, const rlimit64* limit) { return set_limit(resource, plain(limit)); }
HT_HOOK int prlimit(pid_t pid, __rlimit_resource resource, const rlimit* limit, rlimit* old) {
  return set_and_get_limit(pid, resource, limit, old);
}
HT_HOOK int prlimit64(pid_t pid, __rlimit_resource resource, const rlimit64* limit, rlimit64* old) {
  return set_and_get_limit(pid, resource, plain(limit), plain(old));
}
