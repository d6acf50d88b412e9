// Faults at guarded blocks of a program that samples: reported, and the program goes on.
#pragma once

#include <signal.h>
#include <ucontext.h>

namespace heaptape::recorder {

// True: it was one, and the instruction finds memory when it runs again.
[[nodiscard]] bool pass_sampled_fault(const siginfo_t& info, const ucontext_t& context) noexcept;

} // namespace heaptape::recorder
