// Snapshots of memory that only the program itself can see are due: when it asks for one, ends, or crashes.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include "wire/memory_error.h"

namespace heaptape::recorder {

// The thread has crashed, and a snapshot is taken if one is wanted then.
void ask_at_crash(const siginfo_t& info, const ucontext_t& context) noexcept;

// What the checks in the program have to do and to say when it ends or crashes.
void end_checks(FoundAt found) noexcept;

// As the options of this recording want it: what is called when the program ends, and handlers for signals that ask for a snapshot and
// that the program has none for.
// At the start, before the program can have set any of this itself; again in a followed child of fork, which has all of it already.
void arrange_contents() noexcept;

} // namespace heaptape::recorder
