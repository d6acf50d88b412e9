#include "recorder/core/interrupted_call.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#include <cstdint>
#include <cstring>

#include "recorder/core/cfi.h"
#include "recorder/core/machine.h"
#include "recorder/core/readable.h"

namespace heaptape::recorder {

namespace {

// Those that the kernel never restarts after a handler, and that have done nothing when they fail with EINTR. Not close and connect, which
// have.
bool can_begin_again(std::uint32_t call) noexcept {
  switch (call) {
  case SYS_poll:
  case SYS_ppoll:
  case SYS_select:
  case SYS_pselect6:
  case SYS_epoll_wait:
  case SYS_epoll_pwait:
  case SYS_epoll_pwait2:
  case SYS_nanosleep:
  case SYS_clock_nanosleep:
  case SYS_pause:
  case SYS_rt_sigsuspend:
  case SYS_rt_sigtimedwait:
  case SYS_semop:
  case SYS_semtimedop:
  case SYS_msgrcv:
  case SYS_msgsnd:
  case SYS_io_getevents:
  case SYS_futex:
  case SYS_recvfrom:
  case SYS_recvmsg:
  case SYS_recvmmsg:
  case SYS_sendto:
  case SYS_sendmsg:
  case SYS_accept:
  case SYS_accept4:
  case SYS_read:
  case SYS_write: return true;
  default: return false;
  }
}

// Whether the program has a handler for any signal that may come from outside: then EINTR may be meant for it.
bool program_handles_signals(int ours) noexcept {
  constexpr int kLast = 64, kLibc = 33; // the other one that libc keeps for itself
  struct {
    std::uint64_t handler, flags, restorer, mask;
  } action{};
  for (int signal = 1; signal <= kLast; ++signal) {
    const bool by_the_code = signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL;
    if (signal == ours || signal == kLibc || signal == SIGKILL || signal == SIGSTOP || by_the_code) continue;
    if (system_call(SYS_rt_sigaction, signal, 0, as_long(&action), sizeof action.mask) != 0) continue;
    constexpr std::uint64_t kDefaultOrIgnored = 1;
    if (action.handler > kDefaultOrIgnored) return true;
  }
  return false;
}

} // namespace

void repeat_interrupted_call(ucontext_t& context, int signal) noexcept {
  auto& registers = context.uc_mcontext.gregs;
  if (registers[REG_RAX] != -EINTR || in_sandbox()) return;
  // libc's "mov $number, %eax; syscall", which the thread has just left.
  constexpr std::uint64_t kMov = 5, kSyscall = 2;
  const auto pc = static_cast<std::uint64_t>(registers[REG_RIP]);
  if (find_object(pc).start == 0 || find_object(pc - kSyscall - kMov).start == 0) return;
  const auto* code = reinterpret_cast<const std::uint8_t*>(pc - kSyscall - kMov);
  if (code[0] != 0xb8 || code[kMov] != 0x0f || code[kMov + 1] != 0x05) return;
  std::uint32_t call = 0;
  std::memcpy(&call, code + 1, sizeof call);
  if (!can_begin_again(call) || program_handles_signals(signal)) return;
  registers[REG_RIP] = static_cast<greg_t>(pc - kSyscall);
  registers[REG_RAX] = call;
}

} // namespace heaptape::recorder
