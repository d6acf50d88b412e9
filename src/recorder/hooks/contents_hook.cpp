#include "recorder/hooks/contents_hook.h"

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "recorder/check/allocator.h"
#include "recorder/check/failing.h"
#include "recorder/check/options.h"
#include "recorder/core/events.h"
#include "recorder/core/interrupted_call.h"
#include "recorder/core/kernel_signal.h"
#include "recorder/core/recorder.h"
#include "recorder/core/ring.h"
#include "recorder/hooks/asking.h"
#include "recorder/hooks/hook.h"
#include "recorder/hooks/lineage.h"
#include "recorder/hooks/real.h"

// libc's, behind atexit() and at_quick_exit(), which are not in the shared library. Without an object they stay for good.
extern "C" int __cxa_atexit(void (*function)(void*), void* argument, void* object) noexcept;
extern "C" int __cxa_at_quick_exit(void (*function)(void*), void* object) noexcept;

namespace heaptape::recorder {

namespace {

using wire::AskerRegister;
using wire::ContentsReason;

constexpr int kMostIdleWaits = 150; // in which the collector has done nothing for the answer: 15 s

// What a function keeps for its caller, as heaptape_saving_call leaves it on the stack.
struct SavedCall {
  std::uint64_t rbx, r12, r13, r14, r15, rbp, pc;
  // The caller's stack begins here.
};

struct AskerState {
  std::uint64_t registers[wire::kAskerRegisters]{};
  std::uint64_t vectors = 0;
  std::uint32_t signal = 0; // that it crashed of, with what the kernel said of it
  std::int32_t code = 0;
  std::uint64_t detail = 0;

  std::uint64_t& operator[](AskerRegister which) { return registers[static_cast<std::size_t>(which)]; }
};

// At a call everything else is free for the callee to use: it holds nothing that the program still needs.
AskerState state_at(const SavedCall& call, bool returns) noexcept {
  AskerState state;
  state[AskerRegister::Rbx] = call.rbx;
  state[AskerRegister::Rbp] = call.rbp;
  state[AskerRegister::R12] = call.r12;
  state[AskerRegister::R13] = call.r13;
  state[AskerRegister::R14] = call.r14;
  state[AskerRegister::R15] = call.r15;
  state[AskerRegister::Rsp] = as_address(&call + 1);
  // Behind a call that does not return there may be another function.
  state[AskerRegister::Rip] = returns ? call.pc : call.pc - 1;
  return state;
}

AskerState state_at(const ucontext_t& context) noexcept {
  AskerState state;
  for (std::size_t i = 0; i < wire::kAskerRegisters; ++i)
    state.registers[i] = static_cast<std::uint64_t>(context.uc_mcontext.gregs[i]);
  state.vectors = as_address(context.uc_mcontext.fpregs);
  return state;
}

AskerState state_at(const ucontext_t& context, const siginfo_t& info) noexcept {
  AskerState state = state_at(context);
  state.signal = static_cast<std::uint32_t>(info.si_signo);
  state.code = info.si_code;
  constexpr std::size_t kDetail = 16; // where si_addr lies, and of signals that were sent si_pid and si_uid
  static_assert(offsetof(siginfo_t, si_addr) == kDetail);
  std::memcpy(&state.detail, reinterpret_cast<const char*>(&info) + kDetail, sizeof state.detail);
  return state;
}

bool may_ask() noexcept {
  // A child of vfork runs in our memory. In a sandbox it cannot be told apart, but it hardly begins there.
  return is_attached() && (in_sandbox() || is_recorded_process());
}

// Waits while the collector works. The last beat that was seen tells whether it does.
class PatientWait {
public:
  explicit PatientWait(wire::Header& header) : header_(header), beat_(beat()) {}
  // False: nothing more will come.
  bool go_on(std::atomic<std::uint32_t>& word, std::uint32_t seen) noexcept {
    if (collector_is_gone(header_)) return false;
    wait_a_moment(word, seen);
    const std::uint32_t now = beat();
    idle_ = now == beat_ ? idle_ + 1 : 0;
    beat_ = now;
    return idle_ < kMostIdleWaits;
  }

private:
  std::uint32_t beat() const noexcept { return header_.contents.beat.load(std::memory_order_relaxed); }

  wire::Header& header_;
  std::uint32_t beat_;
  int idle_ = 0;
};

// False: this thread is asking already, and a signal handler interrupted it.
bool become_asker(wire::Header& header, std::uint32_t self) noexcept {
  wire::ContentsQuestion& question = header.contents;
  PatientWait wait(header);
  std::uint32_t before = 0;
  while (!question.asker.compare_exchange_strong(before, self, std::memory_order_acquire)) {
    if (before == self) return false;
    if (!wait.go_on(question.asker, before)) { // it was ended in the middle of asking
      question.asker.store(self, std::memory_order_relaxed);
      return true;
    }
    before = 0;
  }
  return true;
}

// The number of the snapshot; 0: there is none.
std::uint64_t ask(ContentsReason reason, const char* name, const AskerState& state) noexcept {
  wire::Header& header = *g_recorder.header;
  wire::ContentsQuestion& question = header.contents;
  const ThreadState* const thread = t_thread;
  const std::uint32_t self = !in_sandbox()       ? static_cast<std::uint32_t>(system_call(SYS_gettid))
                             : thread != nullptr ? thread->tid
                                                 : 1;
  if (!become_asker(header, self)) return 0;
  question.reason.store(static_cast<std::uint32_t>(reason), std::memory_order_relaxed);
  question.number.store(0, std::memory_order_relaxed);
  for (std::size_t i = 0; i < wire::kAskerRegisters; ++i)
    question.registers[i].store(state.registers[i], std::memory_order_relaxed);
  question.vectors.store(state.vectors, std::memory_order_relaxed);
  question.signal.store(state.signal, std::memory_order_relaxed);
  question.code.store(state.code, std::memory_order_relaxed);
  question.detail.store(state.detail, std::memory_order_relaxed);
  const std::size_t length = strnlen(name, wire::kContentsNameBytes - 1);
  std::memcpy(question.name, name, length);
  question.name[length] = 0;
  question.state.store(static_cast<std::uint32_t>(wire::Question::Asked), std::memory_order_release);
  wake_for_question(header);
  std::uint64_t number = 0;
  PatientWait wait(header);
  while (true) {
    const std::uint32_t now = question.state.load(std::memory_order_acquire); // pairs with the collector's answer
    if (now == static_cast<std::uint32_t>(wire::Question::Answered)) {
      number = question.number.load(std::memory_order_relaxed);
      break;
    }
    if (!wait.go_on(question.state, now)) break;
  }
  question.state.store(static_cast<std::uint32_t>(wire::Question::None), std::memory_order_relaxed);
  question.asker.store(0, std::memory_order_release);
  wake_all(question.asker);
  return number;
}

// -------------------------------------------------------------------------------------------------------------- the end

void ask_at_end(const SavedCall& call, bool returns) noexcept {
  if (may_ask()) end_checks(FoundAt::Exit);
  static constinit std::atomic<std::uint64_t> s_asked_for{
      0}; // the process, by its memory: a child of fork has its own end
  if (!may_ask() || (g_recorder.config.contents_reasons & wire::reason_bit(ContentsReason::Exit)) == 0) return;
  const std::uint64_t memory = as_address(g_recorder.header);
  if (s_asked_for.exchange(memory, std::memory_order_relaxed) == memory) return;
  (void)ask(ContentsReason::Exit, "exit", state_at(call, returns));
}

// -------------------------------------------------------------------------------------------------------------- signals

void append(char* text, std::size_t& length, const char* more) noexcept {
  const std::size_t size = std::strlen(more);
  std::memcpy(text + length, more, size + 1);
  length += size;
}

const char* name_of(int signal) noexcept {
  switch (signal) {
  case SIGSEGV: return "SIGSEGV";
  case SIGBUS: return "SIGBUS";
  case SIGILL: return "SIGILL";
  case SIGFPE: return "SIGFPE";
  case SIGABRT: return "SIGABRT";
  case SIGTRAP: return "SIGTRAP";
  default: return "SIGSYS";
  }
}

// As if we had never been there: the default follows when the handler returns.
void leave_to_default(int signal, siginfo_t& info) noexcept {
  (void)set_action(signal, KernelAction{});
  const long pid = system_call(SYS_getpid), tid = system_call(SYS_gettid);
  if (system_call(SYS_rt_tgsigqueueinfo, pid, tid, signal, as_long(&info)) != 0)
    (void)system_call(SYS_tgkill, pid, tid, signal);
}

void on_request(int signal, siginfo_t* info, void* context) noexcept {
  if (!may_ask()) return leave_to_default(signal, *info); // a child of fork
  wire::ContentsQuestion& question = g_recorder.header->contents;
  question.last_signal.store(static_cast<std::uint32_t>(signal), std::memory_order_relaxed);
  question.signals.fetch_add(1, std::memory_order_release);
  wake_for_question(*g_recorder.header);
  repeat_interrupted_call(*static_cast<ucontext_t*>(context), signal);
}

void handle_if_default(int signal, const KernelAction& action) noexcept {
  KernelAction now{};
  if (get_action(signal, now) && is_default(now)) (void)set_action(signal, action);
}

} // namespace

// The functions that heaptape_saving_call leads to.
extern "C" {
[[gnu::used]] long heaptape_contents_of_call(const char* name, const SavedCall& call) {
  constexpr long kNone = -1;
  if (!may_ask()) return kNone;
  const std::uint64_t number = ask(ContentsReason::Call, name != nullptr ? name : "", state_at(call, true));
  return number != 0 ? static_cast<long>(number) : kNone;
}
[[gnu::used]] void heaptape_contents_at_exit(void*, const SavedCall& call) { ask_at_end(call, true); }
[[gnu::used, noreturn]] void heaptape_contents_at_abrupt_exit(int status, const SavedCall& call) {
  ask_at_end(call, false);
  if (g_real.exit_now == nullptr) find_real_functions();
  if (g_real.exit_now != nullptr) g_real.exit_now(status);
  while (true) (void)system_call(SYS_exit_group, status);
}

void heaptape_exit_handler(void*);
}

void ask_at_crash(const siginfo_t& info, const ucontext_t& context) noexcept {
  if (!may_ask() || (g_recorder.config.contents_reasons & wire::reason_bit(ContentsReason::Crash)) == 0) return;
  char name[32];
  std::size_t length = 0;
  append(name, length, "crash ");
  append(name, length, name_of(info.si_signo));
  (void)ask(ContentsReason::Crash, name, state_at(context, info));
}

void end_checks(FoundAt found) noexcept {
  if (g_check.on) check_all_blocks(found);
  if (g_check.fail) tell_failing();
}

void arrange_contents() noexcept {
  const std::uint32_t reasons = g_recorder.config.contents_reasons;
  static constinit bool s_has_exit_handler = false;
  const bool at_exit = (reasons & wire::reason_bit(ContentsReason::Exit)) != 0 || g_check.on;
  if (at_exit && !s_has_exit_handler) {
    // The first to be registered runs last: behind the destructors of the program's own variables.
    (void)__cxa_atexit(heaptape_exit_handler, nullptr, nullptr);
    (void)__cxa_at_quick_exit(heaptape_exit_handler, nullptr);
    s_has_exit_handler = true;
  }
  for (int signal = 1; signal < NSIG; ++signal) {
    if ((g_recorder.config.contents_signals & signal_bit(signal)) != 0)
      handle_if_default(signal, handler_action(on_request));
  }
}

} // namespace heaptape::recorder

// Calls FUNCTION(argument, saved), where saved is a SavedCall, and returns what it returned.
#define HT_SAVING_CALL(function)                                                                                       \
  "pushq %rbp\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset %rbp, 0\n\t"                                              \
  "pushq %r15\n\t.cfi_adjust_cfa_offset 8\n\tpushq %r14\n\t.cfi_adjust_cfa_offset 8\n\t"                               \
  "pushq %r13\n\t.cfi_adjust_cfa_offset 8\n\tpushq %r12\n\t.cfi_adjust_cfa_offset 8\n\t"                               \
  "pushq %rbx\n\t.cfi_adjust_cfa_offset 8\n\t"                                                                         \
  "movq %rsp, %rsi\n\tsubq $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\t"                                                   \
  "call " function "\n\t"                                                                                              \
  "addq $48, %rsp\n\t.cfi_adjust_cfa_offset -48\n\tpopq %rbp\n\t.cfi_adjust_cfa_offset -8\n\t.cfi_restore %rbp\n\t"

#define HT_FUNCTION(name, visibility, body)                                                                            \
  asm(".text\n\t.p2align 4\n\t" visibility ".globl " name "\n\t.type " name ", @function\n" name                       \
      ":\n\t.cfi_startproc\n\t" body ".cfi_endproc\n\t.size " name ", .-" name "\n")

HT_FUNCTION("heaptape_recorder_contents", "", HT_SAVING_CALL("heaptape_contents_of_call") "ret\n\t");
// The name to call in a debugger.
asm(".globl heaptape_contents\n\t.type heaptape_contents, @function\n\t"
    ".set heaptape_contents, heaptape_recorder_contents\n");
HT_FUNCTION("heaptape_exit_handler", ".hidden heaptape_exit_handler\n\t",
            HT_SAVING_CALL("heaptape_contents_at_exit") "ret\n\t");

// Ends without any of what exit() does. Also what syscall(SYS_exit_group) jumps to, see mmap_hooks.cpp.
HT_FUNCTION("_exit", "", HT_SAVING_CALL("heaptape_contents_at_abrupt_exit"));
asm(".globl _Exit\n\t.type _Exit, @function\n\t.set _Exit, _exit\n");
HT_FUNCTION("heaptape_exit_by_system_call", ".hidden heaptape_exit_by_system_call\n\t",
            "movl %esi, %edi\n\tjmp _exit\n\t");
