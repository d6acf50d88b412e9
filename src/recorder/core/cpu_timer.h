// The timer by which a thread's CPU time is sampled (cpu_profile.h arms it).
#pragma once

#include "recorder/core/thread_state.h"

namespace heaptape::recorder {

// Takes a thread's timer away, if it has one.
void drop_timer(ThreadState& thread) noexcept;
// The same, unless the program forbids itself system calls: the thread is about to end.
void disarm_cpu_timer(ThreadState& thread) noexcept;

} // namespace heaptape::recorder
