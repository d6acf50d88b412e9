// Handlers of signals as the kernel knows them: libc's functions refuse some signals, and take locks.
#pragma once

#include <signal.h>
#include <sys/syscall.h>

#include <cstdint>

#include "recorder/core/machine.h"

namespace heaptape::recorder {

using SignalHandler = void (*)(int, siginfo_t*, void*);

struct KernelAction {
  SignalHandler handler;
  unsigned long flags;
  void (*restorer)();
  std::uint64_t mask;
};

// Where a handler of ours returns to.
extern "C" void heaptape_return_from_signal();

inline constexpr unsigned long kHasRestorer = 0x0400'0000;

// A handler on the thread's signal stack, if it has one, that nothing interrupts but what is in `unmasked`.
inline KernelAction handler_action(SignalHandler handler, std::uint64_t unmasked = 0) noexcept {
  return {handler, SA_SIGINFO | SA_RESTART | SA_ONSTACK | kHasRestorer, heaptape_return_from_signal, ~unmasked};
}

inline bool get_action(int signal, KernelAction& action) noexcept {
  return system_call(SYS_rt_sigaction, signal, 0, as_long(&action), sizeof action.mask) == 0;
}
inline bool set_action(int signal, const KernelAction& action) noexcept {
  return system_call(SYS_rt_sigaction, signal, as_long(&action), 0, sizeof action.mask) == 0;
}

inline bool is_default(const KernelAction& action) noexcept { return action.handler == nullptr; }
constexpr std::uint64_t signal_bit(int signal) noexcept { return std::uint64_t{1} << (signal - 1); }

} // namespace heaptape::recorder
