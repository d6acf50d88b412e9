// The program does not see the handler of crashes (crash_hook.h): where that stands, it is told that the default does; where it sets the
// default, as handlers do before they raise the signal again, that is put back. Handlers of its own are installed as they are, and nothing of
// ours stands in front of them: runtimes that live on SIGSEGV must not become slower, nor see anything but what the kernel says.
#include <signal.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "recorder/core/kernel_signal.h"
#include "recorder/hooks/crash_hook.h"
#include "recorder/hooks/hook.h"
#include "recorder/hooks/real.h"

using namespace heaptape::recorder;

namespace {

// With what the program set the default where ours stands now.
struct Told {
  std::atomic<std::uint64_t> mask{0};
  std::atomic<int> flags{0};
};
constinit Told g_told[NSIG];

bool is_ours(sighandler_t handler) noexcept { return is_crash_handler(reinterpret_cast<const void*>(handler)); }
sighandler_t as_told(sighandler_t handler) noexcept { return is_ours(handler) ? SIG_DFL : handler; }

// The kernel keeps both sorts in one place.
sighandler_t as_simple(SignalHandler handler) noexcept {
  return reinterpret_cast<sighandler_t>(reinterpret_cast<void*>(handler));
}

void tell(int signal, struct sigaction& former) noexcept {
  if (!is_ours(former.sa_handler)) return;
  former.sa_handler = SIG_DFL;
  former.sa_flags = g_told[signal].flags.load(std::memory_order_relaxed);
  former.sa_restorer = nullptr;
  const std::uint64_t mask = g_told[signal].mask.load(std::memory_order_relaxed);
  std::memcpy(&former.sa_mask, &mask, sizeof mask);
}

bool takes_default(int signal, sighandler_t handler) noexcept {
  return handler == SIG_DFL && is_crash_signal(signal) && wants_crash_handler();
}

// Puts ours in the place of what stood there, in one go. False: the kernel did not.
bool exchange(int signal, KernelAction& former) noexcept {
  const KernelAction action = crash_action();
  return system_call(SYS_rt_sigaction, signal, as_long(&action), as_long(&former), sizeof action.mask) == 0;
}

int set_action_of(int signal, const struct sigaction* action, struct sigaction* former) noexcept {
  if (g_real.sigaction == nullptr) find_real_functions();
  KernelAction before{};
  if (action == nullptr || !takes_default(signal, action->sa_handler) || !exchange(signal, before)) {
    const int result = g_real.sigaction(signal, action, former);
    if (result == 0 && former != nullptr && is_crash_signal(signal)) tell(signal, *former);
    return result;
  }
  std::uint64_t mask = 0;
  std::memcpy(&mask, &action->sa_mask, sizeof mask);
  const int flags = action->sa_flags;
  if (former != nullptr) { // may be the same as `action`
    former->sa_handler = as_simple(before.handler);
    former->sa_flags = static_cast<int>(before.flags);
    former->sa_restorer = before.restorer;
    std::memcpy(&former->sa_mask, &before.mask, sizeof before.mask);
    tell(signal, *former);
  }
  g_told[signal].mask.store(mask, std::memory_order_relaxed);
  g_told[signal].flags.store(flags, std::memory_order_relaxed);
  return 0;
}

template <class Function>
sighandler_t set_simply(int signal, sighandler_t handler, Function real) noexcept {
  KernelAction before{};
  if (!takes_default(signal, handler) || !exchange(signal, before)) return as_told(real(signal, handler));
  g_told[signal].mask.store(0, std::memory_order_relaxed);
  g_told[signal].flags.store(0, std::memory_order_relaxed);
  return as_told(as_simple(before.handler));
}

} // namespace

HT_HOOK int sigaction(int signal, const struct sigaction* action, struct sigaction* former) {
  return set_action_of(signal, action, former);
}
HT_HOOK int __sigaction(int signal, const struct sigaction* action, struct sigaction* former) {
  return set_action_of(signal, action, former);
}

HT_HOOK sighandler_t signal(int signal, sighandler_t handler) {
  if (g_real.signal == nullptr) find_real_functions();
  return set_simply(signal, handler, g_real.signal);
}
HT_HOOK sighandler_t bsd_signal(int signal, sighandler_t handler) {
  if (g_real.signal == nullptr) find_real_functions();
  return set_simply(signal, handler, g_real.signal);
}
HT_HOOK sighandler_t ssignal(int signal, sighandler_t handler) {
  if (g_real.signal == nullptr) find_real_functions();
  return set_simply(signal, handler, g_real.signal);
}
HT_HOOK sighandler_t __sysv_signal(int signal, sighandler_t handler) {
  if (g_real.sysv_signal == nullptr) find_real_functions();
  return set_simply(signal, handler, g_real.sysv_signal);
}
HT_HOOK sighandler_t sysv_signal(int signal, sighandler_t handler) {
  if (g_real.sysv_signal == nullptr) find_real_functions();
  return set_simply(signal, handler, g_real.sysv_signal);
}

// It changes the thread's mask as well, so the real one has to do it.
HT_HOOK sighandler_t sigset(int signal, sighandler_t handler) {
  if (g_real.sigset == nullptr) find_real_functions();
  const sighandler_t former = g_real.sigset(signal, handler);
  if (former != SIG_ERR && takes_default(signal, handler)) (void)set_crash_handler(signal);
  return as_told(former);
}

// Nor does it see the stack that the handler got for the main thread: runtimes make one only where there is none.
HT_HOOK int sigaltstack(const stack_t* stack, stack_t* former) {
  if (g_real.sigaltstack == nullptr) find_real_functions();
  const int result = g_real.sigaltstack(stack, former);
  if (result == 0 && former != nullptr && former->ss_sp != nullptr && former->ss_sp == own_signal_stack() &&
      (former->ss_flags & SS_ONSTACK) == 0) {
    *former = {};
    former->ss_flags = SS_DISABLE;
  }
  return result;
}
