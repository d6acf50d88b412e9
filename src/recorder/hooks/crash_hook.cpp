// The handler of a crash. What it may rely on is little: the thread may have been stopped anywhere, in the recorder, too, its stack may be
// at its end or damaged, and other threads run on or crash as well. So it
//   - takes no lock, allocates nothing, and waits for the collector for a bounded time alone;
//   - reads the stack under a guard: a fault in there ends the reading and nothing else;
//   - leaves everything else as it would be without us: the default action comes back, and the instruction faults again, or the signal is sent
//     again as it was.
#include "recorder/hooks/crash_hook.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <cstddef>
#include <cstring>

#include "recorder/check/options.h"
#include "recorder/core/busy.h"
#include "recorder/core/capture_interrupted.h"
#include "recorder/core/events.h"
#include "recorder/core/machine.h"
#include "recorder/core/own_memory.h"
#include "recorder/core/recorder.h"
#include "recorder/core/text_records.h"
#include "recorder/hooks/contents_hook.h"
#include "recorder/hooks/hook.h"
#include "recorder/hooks/lineage.h"
#include "recorder/hooks/sampled_fault.h"
#include "wire/crash_record.h"

namespace heaptape::recorder {

// Calls function(argument). False: it faulted, and was left where it stood. Its stack pointer is kept in `place` meanwhile.
extern "C" bool heaptape_guarded(void (*function)(void*), void* argument, std::uint64_t* place);
// Where a thread goes on whose function faulted, with RSP as it is in `place`.
extern "C" void heaptape_guard_broken();

namespace {

constexpr std::uint64_t kSignalStackBytes = std::uint64_t{64} << 10;
constexpr std::uint64_t kEndsWait = signal_bit(SIGINT) | signal_bit(SIGTERM) | signal_bit(SIGQUIT) | signal_bit(SIGHUP);
// Those that reading the stack may cause.
constexpr std::uint64_t kFaults = signal_bit(SIGSEGV) | signal_bit(SIGBUS);
constexpr std::size_t kDetail = 16; // where si_addr lies, and of signals that were sent si_pid and si_uid
static_assert(offsetof(siginfo_t, si_addr) == kDetail);

thread_local constinit bool t_in_handler [[gnu::tls_model("initial-exec")]] = false;
thread_local constinit std::uint64_t t_guarded [[gnu::tls_model("initial-exec")]] = 0; // the guard's place; 0: none
constinit const void* g_signal_stack = nullptr;

bool is_sent(const siginfo_t& info) noexcept { return info.si_code <= 0; }

// An instruction that faults does so again when the handler returns, and nothing is changed by it. Other signals are sent once more.
bool comes_again(int signal, const siginfo_t& info) noexcept {
  constexpr int kFoundByItself = 5; // BUS_MCEERR_AO: memory went bad that nobody has touched
  if (signal == SIGBUS && info.si_code == kFoundByItself) return false;
  const bool by_the_code = signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE;
  return by_the_code && !is_sent(info);
}

// In a sandbox no system call is safe, but the handler has been taken away already: see arrange_crash_handlers_for_sandbox().
void leave_to_default_in_sandbox(int signal, const siginfo_t& info, ucontext_t& context) noexcept {
  constexpr int kBySeccomp = 1, kByKernel = 0x80;
  auto& pc = context.uc_mcontext.gregs[REG_RIP];
  if (comes_again(signal, info)) return;
  if (signal == SIGSYS && info.si_code == kBySeccomp) {
    pc -= 2; // the call that is forbidden, once more
  } else if (signal == SIGTRAP && info.si_code == kByKernel) {
    pc -= 1; // int3
  } else if (t_thread != nullptr) {
    (void)system_call(SYS_tgkill, g_recorder.main_tid, t_thread->tid, signal);
  }
}

// As if we had never been there: the program ends, or whatever else is the default, when the handler returns.
void leave_to_default(int signal, siginfo_t& info, ucontext_t& context) noexcept {
  if (in_sandbox()) return leave_to_default_in_sandbox(signal, info, context);
  (void)set_action(signal, KernelAction{});
  if (comes_again(signal, info)) return;
  // Until the handler returns, so that it ends what was interrupted.
  const std::uint64_t bit = signal_bit(signal);
  (void)system_call(SYS_rt_sigprocmask, SIG_BLOCK, as_long(&bit), 0, sizeof bit);
  const long pid = system_call(SYS_getpid), tid = system_call(SYS_gettid);
  if (system_call(SYS_rt_tgsigqueueinfo, pid, tid, signal, as_long(&info)) != 0)
    (void)system_call(SYS_tgkill, pid, tid, signal);
}

bool may_record() noexcept {
  // A child of vfork runs in our memory. In a sandbox it cannot be told apart, but it hardly begins there.
  return is_attached() && (in_sandbox() || is_recorded_process());
}

// What the processor said of a thread's last fault, as the kernel keeps it with every context. It counts only where the thread stands at the
// instruction that faulted; 0: it does not, or there was no fault.
int faulted_at(const ucontext_t& context) noexcept {
  constexpr std::uint64_t kDivide = 0, kUndefined = 6, kProtection = 13, kPageFault = 14;
  const auto* code = reinterpret_cast<const volatile std::uint8_t*>(context.uc_mcontext.gregs[REG_RIP]);
  const auto trap = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_TRAPNO]);
  if (trap == kPageFault) { // also of a jump to where no code is
    constexpr std::uint64_t kFetch = 16;
    if ((static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_ERR]) & kFetch) != 0) return SIGSEGV;
  }
  if (code[-2] == 0x0f && code[-1] == 0x05) return 0; // behind a system call
  switch (trap) {
  case kPageFault:
  case kProtection: return SIGSEGV;
  case kUndefined: return SIGILL;
  case kDivide: {
    const std::size_t prefixes = (code[0] == 0x66) + ((code[code[0] == 0x66 ? 1 : 0] & 0xf0) == 0x40);
    const std::uint8_t opcode = code[prefixes];
    constexpr std::uint8_t kDividing = 0x30; // in the middle of the byte behind it: div and idiv are 6 and 7
    return (opcode == 0xf6 || opcode == 0xf7) && (code[prefixes + 1] & kDividing) == kDividing ? SIGFPE : 0;
  }
  default: return 0;
  }
}

// As the kernel has said it of that fault.
void take_fault(wire::CrashRecord& record, const ucontext_t& context, int signal) noexcept {
  constexpr std::uint64_t kPageFault = 14, kPresent = 1;
  constexpr std::int32_t kByKernel = 0x80;
  record.signal = static_cast<std::uint32_t>(signal);
  record.was_handled = 1;
  record.address = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
  record.code = kByKernel;
  if (signal == SIGILL) record.code = ILL_ILLOPN;
  if (signal == SIGFPE) record.code = FPE_INTDIV;
  if (signal != SIGSEGV && signal != SIGBUS) return;
  record.address = 0;
  if (record.trap != kPageFault) return;
  record.address = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_CR2]);
  const std::int32_t of_segment = (record.error & kPresent) != 0 ? SEGV_ACCERR : SEGV_MAPERR;
  record.code = signal == SIGBUS ? static_cast<std::int32_t>(BUS_ADRERR) : of_segment;
}

// What is done under the guard.
struct Reading {
  ThreadState& thread;
  const siginfo_t& info;
  const ucontext_t& context;
  wire::CrashRecord record{};
  std::uint32_t stack = 0;
};

void take_registers(wire::CrashRecord& record, const ucontext_t& context) noexcept {
  for (std::size_t i = 0; i < wire::kAskerRegisters; ++i)
    record.registers[i] = static_cast<std::uint64_t>(context.uc_mcontext.gregs[i]);
  record.error = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_ERR]);
  record.trap = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_TRAPNO]);
}
void take_facts(wire::CrashRecord& record, const siginfo_t& info, const ucontext_t& context) noexcept {
  record.signal = static_cast<std::uint32_t>(info.si_signo);
  record.code = info.si_code;
  std::memcpy(&record.address, reinterpret_cast<const char*>(&info) + kDetail, sizeof record.address);
  take_registers(record, context);
}

bool is_of_fault(const SignalFrame& frame) noexcept { return faulted_at(*frame.context) != 0; }

// A handler of the program's own had the signal first, and then raised one itself: what counts is what it was called for.
void read_outer_signal(void* given) noexcept {
  auto& reading = *static_cast<Reading*>(given);
  const SignalFrame outer = find_signal_frame(reading.thread, reading.context, is_of_fault);
  if (outer.context == nullptr) return;
  const auto fault_address = static_cast<std::uint64_t>(outer.context->uc_mcontext.gregs[REG_CR2]);
  const bool is_bus = outer.info->si_signo == SIGBUS && as_address(outer.info->si_addr) == fault_address;
  wire::CrashRecord record{};
  take_registers(record, *outer.context);
  take_fault(record, *outer.context, is_bus ? SIGBUS : faulted_at(*outer.context));
  if (record.signal != reading.record.signal) record.ended_by = reading.record.signal;
  const CrashStack found = capture_crashed(reading.thread, *outer.context);
  record.frames = found.frames;
  reading.record = record;
  reading.stack = found.stack;
}

// It raised the same signal again, which was blocked until it returned: the thread stands where it had faulted.
void read_place(void* given) noexcept {
  auto& reading = *static_cast<Reading*>(given);
  const int signal = static_cast<int>(reading.record.signal), faulted = faulted_at(reading.context);
  if (faulted == signal || (faulted == SIGSEGV && signal == SIGBUS))
    take_fault(reading.record, reading.context, signal);
}

void read_stack(void* given) noexcept {
  auto& reading = *static_cast<Reading*>(given);
  const CrashStack found = capture_crashed(reading.thread, reading.context);
  reading.record.frames = found.frames;
  reading.stack = found.stack;
}

// A jump may have led to where nothing is.
void read_code(void* given) noexcept {
  wire::CrashRecord& record = static_cast<Reading*>(given)->record;
  const auto* code = reinterpret_cast<const volatile std::uint8_t*>(
      record.registers[static_cast<std::size_t>(wire::AskerRegister::Rip)]);
  for (; record.byte_count < wire::kCrashCodeBytes; ++record.byte_count)
    record.bytes[record.byte_count] = code[record.byte_count];
}

bool guarded(void (*function)(void*), Reading& reading) noexcept {
  std::uint64_t place = 0;
  t_guarded = as_address(&place);
  const bool whole = heaptape_guarded(function, &reading, &place);
  t_guarded = 0;
  return whole;
}

void put_record(Reading& reading) noexcept {
  constexpr std::size_t kBytes = sizeof reading.record;
  ThreadState& thread = reading.thread;
  constexpr std::uint64_t kSpare = 2; // for a hook that was interrupted between its look at the ring and its record
  if (!await_room(thread, text_records(kBytes) + 1 + kSpare)) {
    if (is_attached()) count_loss(wire::Loss::RingFull);
    return;
  }
  put_text_in_room(thread, &reading.record, kBytes);
  put_in_room(thread, EventKind::Crash, kBytes, 0, reading.stack);
}

// Blocks that are damaged say what may have led here.
void look_at_blocks() noexcept {
  std::uint64_t place = 0;
  t_guarded = as_address(&place);
  (void)heaptape_guarded([](void*) { end_checks(FoundAt::Crash); }, nullptr, &place);
  t_guarded = 0;
}

void record_crash(ThreadState& thread, const siginfo_t& info, const ucontext_t& context) noexcept {
  Reading reading{.thread = thread, .info = info, .context = context};
  take_facts(reading.record, info, context);
  const bool by_itself = is_sent(info) && (in_sandbox() || info.si_pid == system_call(SYS_getpid));
  if (by_itself) (void)guarded(read_place, reading);
  bool has_stack = false;
  if (by_itself && reading.record.was_handled == 0) {
    (void)guarded(read_outer_signal, reading);
    has_stack = reading.record.was_handled != 0;
  }
  if (!has_stack) (void)guarded(read_stack, reading);
  (void)guarded(read_code, reading);
  if (is_busy(thread)) return put_record(reading); // a hook was interrupted
  const Busy busy(thread, thread.entry_slot);
  put_record(reading);
}

void on_crash(int signal, siginfo_t* info, void* context) noexcept {
  auto& interrupted = *static_cast<ucontext_t*>(context);
  if (t_in_handler) {
    if (t_guarded == 0 || is_sent(*info)) return leave_to_default(signal, *info, interrupted);
    std::uint64_t place = 0;
    std::memcpy(&place, reinterpret_cast<const void*>(t_guarded), sizeof place);
    interrupted.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(place);
    interrupted.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(&heaptape_guard_broken);
    return;
  }
  if (may_record()) {
    t_in_handler = true;
    if (pass_sampled_fault(*info, interrupted)) {
      t_in_handler = false;
      return;
    }
    const auto at = static_cast<std::uint64_t>(interrupted.uc_mcontext.gregs[REG_RSP]);
    if (ThreadState* const thread = join_thread({0, at, 0}, Caller::Handler); thread != nullptr && is_attached())
      record_crash(*thread, *info, interrupted);
    if (g_check.on && is_attached()) look_at_blocks();
    if (is_attached()) ask_at_crash(*info, interrupted);
    t_in_handler = false;
  }
  leave_to_default(signal, *info, interrupted);
}

// A stack that has overflown has no room for a handler.
void give_main_thread_signal_stack() noexcept {
  stack_t now{};
  if (system_call(SYS_sigaltstack, 0, as_long(&now)) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
  const long memory = system_call(SYS_mmap, 0, static_cast<long>(kSignalStackBytes), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory < 0 && memory > -4096) return;
  note_own_memory(memory, kSignalStackBytes);
  stack_t own{};
  own.ss_sp = reinterpret_cast<void*>(memory);
  own.ss_size = kSignalStackBytes;
  if (system_call(SYS_sigaltstack, as_long(&own), 0) == 0) g_signal_stack = own.ss_sp;
}

} // namespace

bool is_crash_handler(const void* handler) noexcept { return handler == reinterpret_cast<const void*>(&on_crash); }

bool wants_crash_handler() noexcept {
  return is_attached() && g_recorder.config.no_crash_handler == 0 && !in_sandbox() && is_recorded_process();
}

KernelAction crash_action() noexcept {
  KernelAction action = handler_action(on_crash, kEndsWait | kFaults);
  action.flags |= SA_NODEFER; // a fault under the guard is to come here again
  return action;
}
bool set_crash_handler(int signal) noexcept { return set_action(signal, crash_action()); }

const void* own_signal_stack() noexcept { return g_signal_stack; }

void arrange_crash_handlers() noexcept {
  const bool snapshots = (g_recorder.config.contents_reasons & wire::reason_bit(wire::ContentsReason::Crash)) != 0;
  if (g_recorder.config.no_crash_handler != 0 && !snapshots) return;
  give_main_thread_signal_stack();
  for (const int signal : kCrashSignals) {
    KernelAction now{};
    if (get_action(signal, now) && is_default(now)) (void)set_crash_handler(signal);
  }
}

void arrange_crash_handlers_for_sandbox() noexcept {
  for (const int signal : kCrashSignals) {
    KernelAction now{};
    if (!get_action(signal, now) || !is_crash_handler(reinterpret_cast<const void*>(now.handler))) continue;
    now.flags |= SA_RESETHAND;
    (void)set_action(signal, now);
  }
}

} // namespace heaptape::recorder

asm(".text\n\t.p2align 4\n\t.hidden heaptape_guarded\n\t.globl heaptape_guarded\n\t"
    ".hidden heaptape_guard_broken\n\t.globl heaptape_guard_broken\n\t"
    ".type heaptape_guarded, @function\n"
    "heaptape_guarded:\n\t.cfi_startproc\n\t"
    "pushq %rbp\n\t.cfi_adjust_cfa_offset 8\n\tpushq %rbx\n\t.cfi_adjust_cfa_offset 8\n\t"
    "pushq %r12\n\t.cfi_adjust_cfa_offset 8\n\tpushq %r13\n\t.cfi_adjust_cfa_offset 8\n\t"
    "pushq %r14\n\t.cfi_adjust_cfa_offset 8\n\tpushq %r15\n\t.cfi_adjust_cfa_offset 8\n\t"
    "subq $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\t"
    "movq %rsp, (%rdx)\n\tmovq %rdi, %rax\n\tmovq %rsi, %rdi\n\tcall *%rax\n\t"
    "movl $1, %eax\n"
    "1:\n\taddq $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n\t"
    "popq %r15\n\t.cfi_adjust_cfa_offset -8\n\tpopq %r14\n\t.cfi_adjust_cfa_offset -8\n\t"
    "popq %r13\n\t.cfi_adjust_cfa_offset -8\n\tpopq %r12\n\t.cfi_adjust_cfa_offset -8\n\t"
    "popq %rbx\n\t.cfi_adjust_cfa_offset -8\n\tpopq %rbp\n\t.cfi_adjust_cfa_offset -8\n\tret\n"
    "heaptape_guard_broken:\n\t.cfi_adjust_cfa_offset 56\n\tcld\n\txorl %eax, %eax\n\tjmp 1b\n\t"
    ".cfi_endproc\n\t.size heaptape_guarded, .-heaptape_guarded\n");
