// Turns the program's clock ticks into microseconds of the tape. The rate is measured between the program's start and
// now, so every event that has already happened lies inside the measured stretch and its error is that of two clock
// readings.
#pragma once

#include <cstdint>

#include "wire/layout.h"

namespace heaptape {

std::uint64_t monotonic_ns();
std::uint64_t realtime_ns();

// Both clocks at one moment.
struct ClockReading {
  std::uint64_t ticks = 0;
  std::uint64_t monotonic_ns = 0;
};

// Whether a clock that ticks at a possible rate (0.1 to 10 per ns) can have read `start` first and `now` later. The program's reading comes
// out of shared memory.
bool is_plausible(ClockReading start, ClockReading now);

class TickClock {
public:
  static ClockReading read(bool is_tsc);

  // The clock the program said it uses; tape time 0 is `tape_start_ns` (CLOCK_MONOTONIC).
  void start(bool is_tsc, ClockReading program_start, std::uint64_t tape_start_ns);

  // The program's clock now, counted like its records: ticks since its start.
  std::uint64_t now() const { return read_ticks() - base_.ticks; }
  // Measures the rate again; cheap, worth doing once per round while the recording is young.
  void calibrate();
  void calibrate_with(ClockReading reading); // for tests

  // What is stamped more than a second later than now has not happened: to_us() does not believe it.
  void believe_until_now() { latest_us_ = plain_us(now()) + 1'000'000; }
  // Never decreases from call to call, whatever the ticks.
  std::uint64_t to_us(std::uint64_t ticks) {
    const auto us =
        static_cast<std::uint64_t>((static_cast<unsigned __int128>(ticks) * us_per_tick_) >> 64) + offset_us_;
    if (us > last_us_ && us <= latest_us_) last_us_ = us;
    return last_us_;
  }
  std::uint64_t last_us() const { return last_us_; }
  // As to_us, but without the promise about order: for facts beside the stream of events.
  std::uint64_t plain_us(std::uint64_t ticks) const {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(ticks) * us_per_tick_) >> 64) + offset_us_;
  }
  std::uint64_t ticks_of_us(std::uint64_t us) const { return us * ticks_per_ms_ / 1000; }

private:
  static std::uint64_t read_ticks(bool is_tsc);
  std::uint64_t read_ticks() const { return read_ticks(is_tsc_); }

  bool is_tsc_ = false;
  ClockReading base_;
  std::uint64_t us_per_tick_ = 0; // fixed point, 64 fractional bits
  std::uint64_t ticks_per_ms_ = 1'000'000;
  std::uint64_t calibrated_span_ = 0; // ticks between base and the reading in use
  std::uint64_t offset_us_ = 0;
  std::uint64_t last_us_ = 0;
  std::uint64_t latest_us_ = ~std::uint64_t{0};
};

} // namespace heaptape
