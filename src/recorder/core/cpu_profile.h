// The CPU profile: each thread has a timer that counts its own CPU time and sends it a signal at every period; the handler puts the
// thread's call stack into its ring. A thread that sleeps is never disturbed.
//
// The signal is one that libc keeps for itself (32, by which it cancels threads): a program can neither block nor handle nor wait for it by
// any function of libc, and libc's own handler ignores signals of timers.
#pragma once

#include <cstdint>

#include "recorder/core/call_site.h"
#include "recorder/core/thread_state.h"

namespace heaptape::recorder {

// Whether samples are being taken.
[[nodiscard]] bool is_profiling() noexcept;

// Begins a segment: `hz` samples per second of each thread's CPU time, for all threads there are. Ends the one under way.
void start_cpu_profile(std::uint32_t hz, const Frame& site) noexcept;
// Ends the segment under way and begins the next; nothing when there is none.
void next_cpu_segment(const Frame& site) noexcept;
// Ends the segment under way. Timers end themselves when they next go off.
void stop_cpu_profile(const Frame& site) noexcept;

// The program is about to forbid itself system calls, perhaps the one that ends a signal handler too: no signal from here on.
void stop_cpu_profile_for_sandbox(const Frame& site) noexcept;

// Gives the calling thread its timer if samples are being taken and it has none.
void arm_cpu_timer(ThreadState& thread) noexcept;

// After libc may have put its own handler in place of ours.
void restore_cpu_handler() noexcept;

// In a process that begins a recording: no segment so far.
void reset_cpu_profile() noexcept;

} // namespace heaptape::recorder
