#include "collector/rings/tick_clock.h"

#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <algorithm>

namespace heaptape {

namespace {

std::uint64_t read_clock(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

} // namespace

std::uint64_t monotonic_ns() { return read_clock(CLOCK_MONOTONIC); }
std::uint64_t realtime_ns() { return read_clock(CLOCK_REALTIME); }

bool is_plausible(ClockReading start, ClockReading now) {
  if (start.ticks > now.ticks || start.monotonic_ns > now.monotonic_ns) return false;
  constexpr std::uint64_t kApart = 1'000'000'000; // a reader may be interrupted between the two clocks
  const std::uint64_t ticks = now.ticks - start.ticks, ns = now.monotonic_ns - start.monotonic_ns;
  return ticks / 10 <= ns + kApart && ns / 10 <= ticks + kApart;
}

std::uint64_t TickClock::read_ticks([[maybe_unused]] bool is_tsc) {
#if defined(__x86_64__)
  if (is_tsc) return __rdtsc();
#endif
  return monotonic_ns();
}

ClockReading TickClock::read(bool is_tsc) {
  const std::uint64_t before = read_ticks(is_tsc);
  const std::uint64_t ns = monotonic_ns();
  const std::uint64_t after = read_ticks(is_tsc);
  return {before + (after - before) / 2, ns};
}

void TickClock::start(bool is_tsc, ClockReading program_start, std::uint64_t tape_start_ns) {
  is_tsc_ = is_tsc;
  base_ = program_start;
  offset_us_ = program_start.monotonic_ns > tape_start_ns ? (program_start.monotonic_ns - tape_start_ns) / 1000 : 0;
  calibrated_span_ = 0;
  us_per_tick_ = ~std::uint64_t{0} / 1000 + 1; // one tick is a nanosecond, until measured; rounded up to be exact
  ticks_per_ms_ = 1'000'000;
  calibrate();
}

void TickClock::calibrate() {
  if (!is_tsc_) return;
  // A measurement over an hour is as good as it gets; a longer one would only follow the network's corrections.
  if (calibrated_span_ > ticks_per_ms_ * 3'600'000) return;
  calibrate_with(read(is_tsc_));
}

void TickClock::calibrate_with(ClockReading reading) {
  if (reading.ticks <= base_.ticks || reading.monotonic_ns <= base_.monotonic_ns) return;
  const std::uint64_t ticks = reading.ticks - base_.ticks;
  const std::uint64_t ns = reading.monotonic_ns - base_.monotonic_ns;
  const double ns_per_tick = static_cast<double>(ns) / static_cast<double>(ticks);
  if (ns_per_tick < 0.01 || ns_per_tick > 1000) return; // the program's base reading makes no sense
  us_per_tick_ = static_cast<std::uint64_t>(ns_per_tick / 1000.0 * 18446744073709551616.0);
  ticks_per_ms_ = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(1e6 / ns_per_tick));
  calibrated_span_ = ticks;
}

} // namespace heaptape
