// What the program dies of goes onto the tape: handlers for the signals of crashes, wherever the program has left these alone.
#pragma once

#include <signal.h>

#include <cstdint>

#include "recorder/core/kernel_signal.h"

namespace heaptape::recorder {

// At the start, before the program can have set any of this itself; again in a followed child of fork, which has all of it already.
void arrange_crash_handlers() noexcept;

// The program is about to put a seccomp filter on itself, after which a handler can no longer take itself away.
void arrange_crash_handlers_for_sandbox() noexcept;

inline constexpr int kCrashSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
inline constexpr std::uint64_t kCrashSignalBits = signal_bit(SIGSEGV) | signal_bit(SIGBUS) | signal_bit(SIGILL) |
                                                  signal_bit(SIGFPE) | signal_bit(SIGABRT) | signal_bit(SIGTRAP) |
                                                  signal_bit(SIGSYS);
constexpr bool is_crash_signal(int signal) noexcept {
  return signal >= 1 && signal <= 64 && (kCrashSignalBits & signal_bit(signal)) != 0;
}

// Whether this is the handler of ours, which stands for the default.
[[nodiscard]] bool is_crash_handler(const void* handler) noexcept;
// Whether ours is to stand in this process where the program asks for the default.
[[nodiscard]] bool wants_crash_handler() noexcept;
// It, and how to put it there.
[[nodiscard]] KernelAction crash_action() noexcept;
bool set_crash_handler(int signal) noexcept;
// The signal stack that the main thread got from us; null: none.
[[nodiscard]] const void* own_signal_stack() noexcept;

} // namespace heaptape::recorder
