// The call stack of a thread that a signal interrupted, at any instruction, also in the recorder itself.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

#include "recorder/core/thread_state.h"

namespace heaptape::recorder {

// Its interned number. Called by the signal's handler: shares nothing with a capture that was interrupted but what is made for it. The
// innermost pc is one more than the address that was interrupted, so that it is looked up like a return address.
[[nodiscard]] std::uint32_t capture_interrupted(ThreadState& thread, const ucontext_t& context) noexcept;

struct CrashStack {
  std::uint32_t stack = 0;
  std::uint64_t frames = 0; // all of them, also those that are too deep to be in it; 0: not counted
};
// The same for a thread whose stack pointer may lead to no memory.
[[nodiscard]] CrashStack capture_crashed(ThreadState& thread, const ucontext_t& context) noexcept;

// Of a handler of a signal: what the kernel left on the stack for an outer handler, whose call this one lies in, and of which `is_meant` says
// so. `info` is what the kernel said of the signal only if the handler asked for that, else anything. Null: there is none.
struct SignalFrame {
  const ucontext_t* context = nullptr;
  const siginfo_t* info = nullptr;
};
[[nodiscard]] SignalFrame find_signal_frame(ThreadState& thread, const ucontext_t& context,
                                            bool (*is_meant)(const SignalFrame&)) noexcept;

} // namespace heaptape::recorder
