#include "recorder/core/recorder.h"

#include <cpuid.h>
#include <time.h>

#include "recorder/core/machine.h"
#include "recorder/core/thread_state.h"

namespace heaptape::recorder {

constinit Recorder g_recorder;
constinit Switch g_switch;

namespace {

// The time stamp counter is a clock only where it ticks at one rate in every power state.
bool tsc_is_invariant() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0x8000'0007u, &a, &b, &c, &d) == 0) return false;
  return (d & (1u << 8)) != 0;
}

std::uint64_t nanoseconds(clockid_t clock) noexcept {
  timespec now{};
  (void)clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

} // namespace

bool start_recorder(std::uint8_t* memory, std::uint64_t main_stack_top, std::uint64_t stack_reach) noexcept {
  auto* header = reinterpret_cast<wire::Header*>(memory);
  const wire::Config config = header->config;
  if (!g_recorder.rules.start() || !g_recorder.stacks.start(memory, config)) return false;
  g_recorder.config = config;
  g_recorder.memory = memory;
  g_recorder.header = header;
  g_recorder.collector_tid = header->collector_mutex[0].load(std::memory_order_relaxed) & wire::kCollectorTidMask;
  g_recorder.main_stack_top = main_stack_top;
  g_recorder.stack_reach = stack_reach;
  g_recorder.free_stacks = config.free_stacks != 0;
  const std::uint32_t depth = config.max_depth;
  g_recorder.max_depth = depth >= 1 && depth <= kMostFrames ? depth : std::uint32_t{kMostFrames};
  g_recorder.clock_is_tsc = tsc_is_invariant();

  const std::uint64_t monotonic = nanoseconds(CLOCK_MONOTONIC);
  g_recorder.clock_base = g_recorder.clock_is_tsc ? read_tsc() : monotonic;
  header->clock_base_monotonic_ns.store(monotonic, std::memory_order_relaxed);
  header->clock_base_realtime_ns.store(nanoseconds(CLOCK_REALTIME), std::memory_order_relaxed);
  header->clock_base_ticks.store(g_recorder.clock_base, std::memory_order_relaxed);
  header->clock_is_tsc.store(g_recorder.clock_is_tsc ? 1 : 0, std::memory_order_relaxed);
  return true;
}

namespace {
constinit std::atomic<std::uint64_t> g_frozen_ticks{0}; // 0: the clock runs
}

std::uint64_t ticks_without_tsc() noexcept {
  if (g_frozen_ticks.load(std::memory_order_relaxed) != 0)
    return g_frozen_ticks.fetch_add(1, std::memory_order_relaxed);
  return nanoseconds(CLOCK_MONOTONIC) - g_recorder.clock_base;
}

void freeze_clock() noexcept {
  if (g_frozen_ticks.load(std::memory_order_relaxed) != 0) return;
  const std::uint64_t now = g_recorder.clock_is_tsc ? read_tsc() - g_recorder.clock_base : ticks_without_tsc();
  g_frozen_ticks.store(now, std::memory_order_relaxed);
  g_recorder.clock_is_tsc = false;
}

namespace {

constinit std::atomic<std::uint32_t> g_pauses{0};

// Two threads may change the count at once; the last one makes the switch agree with it.
void set_switch() noexcept {
  std::uint32_t position = kOff;
  do {
    std::uint32_t now = g_switch.on.load(std::memory_order_relaxed);
    position = switch_position();
    if (now == kOff) return;
    (void)g_switch.on.compare_exchange_strong(now, position, std::memory_order_seq_cst);
  } while (position != switch_position());
}

} // namespace

std::uint32_t switch_position() noexcept { return g_pauses.load(std::memory_order_seq_cst) == 0 ? kOn : kPaused; }

bool pause_recording() noexcept {
  const bool first = g_pauses.fetch_add(1, std::memory_order_seq_cst) == 0;
  if (first) set_switch();
  return first;
}

bool resume_recording() noexcept {
  std::uint32_t pauses = g_pauses.load(std::memory_order_seq_cst);
  do {
    if (pauses == 0) return false; // one resume too many
  } while (!g_pauses.compare_exchange_weak(pauses, pauses - 1, std::memory_order_seq_cst));
  if (pauses == 1) set_switch();
  return pauses == 1;
}

void stop_recorder(wire::OffReason reason) noexcept {
  g_switch.on.store(kOff, std::memory_order_relaxed);
  g_switch.attached.store(0, std::memory_order_relaxed);
  if (g_recorder.header != nullptr) {
    g_recorder.header->off_reason.store(static_cast<std::uint32_t>(reason), std::memory_order_release);
  }
}

} // namespace heaptape::recorder
