// The kernel's name of the calling thread, on its way to the collector. The collector could read it in /proc, but a thread may be gone before it
// looks.
#pragma once

#include "recorder/core/thread_state.h"

namespace heaptape::recorder {

// Puts the name into the thread's ring if it is another one than it last put there. The thread is busy. Where system calls may be
// forbidden it does nothing.
void put_thread_name(ThreadState& thread) noexcept;

} // namespace heaptape::recorder
