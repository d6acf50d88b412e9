#include "report/crash/fault.h"

#include <signal.h>

#include <algorithm>

#include <fmt/format.h>

namespace heaptape {

namespace {

using enum wire::AskerRegister;

constexpr std::uint64_t kPageFault = 14;         // exception of the processor
constexpr std::uint64_t kWrite = 2, kFetch = 16; // bits of the error of a page fault
constexpr std::uint64_t kNearStack = std::uint64_t{64} << 10;
constexpr std::uint64_t kLargestStack = std::uint64_t{64} << 30;

bool is_canonical(std::uint64_t address) { return address >> 47 == 0 || address >> 47 == 0x1ffff; }

std::uint64_t stack_top_of(const Crash& crash, std::span<const Thread> threads) {
  const auto thread =
      std::find_if(threads.begin(), threads.end(), [&](const Thread& each) { return each.id == crash.thread; });
  return thread != threads.end() ? thread->stack_top : 0;
}

class FaultFinder {
public:
  FaultFinder(const Crash& crash, std::span<const Thread> threads) : crash_(crash), threads_(threads) {
    const auto* code = reinterpret_cast<const std::uint8_t*>(crash.bytes.data());
    fault_.instruction = decode_instruction({code, crash.bytes.size()});
  }

  Fault find() {
    if (crash_.code <= 0) return sent();
    switch (crash_.signal) {
    case SIGSEGV:
    case SIGBUS: memory(); break;
    case SIGFPE: fault_.kind = crash_.code <= 2 ? FaultKind::Division : FaultKind::FloatingPoint; break;
    case SIGILL: fault_.kind = FaultKind::IllegalInstruction; break;
    case SIGTRAP: fault_.kind = FaultKind::Trap; break;
    case SIGSYS: fault_.kind = FaultKind::ForbiddenCall; break;
    default: fault_.kind = FaultKind::Other;
    }
    return fault_;
  }

private:
  Fault sent() {
    fault_.kind = crash_.signal == SIGABRT ? FaultKind::Abort : FaultKind::Sent;
    if (crash_.code == SI_USER || crash_.code == SI_TKILL || crash_.code == SI_QUEUE)
      fault_.sender = static_cast<std::uint32_t>(crash_.address);
    return fault_;
  }

  void memory() {
    fault_.kind = FaultKind::Memory;
    constexpr std::int32_t kMisaligned = 1, kNoSuchPlace = 2, kNotPermitted = 2;
    const bool of_page = crash_.trap == kPageFault;
    if (of_page || crash_.address != 0) {
      fault_.address = crash_.address;
      if (of_page)
        fault_.access = (crash_.error & kFetch) != 0   ? AccessKind::Execute
                        : (crash_.error & kWrite) != 0 ? AccessKind::Write
                                                       : AccessKind::Read;
    }
    find_operand();
    if (crash_.signal == SIGBUS) {
      fault_.kind = crash_.code == kMisaligned    ? FaultKind::Misaligned
                    : crash_.code == kNoSuchPlace ? FaultKind::FileEnd
                                                  : FaultKind::Memory;
      return;
    }
    fault_.not_permitted = crash_.code == kNotPermitted && of_page;
    if (fault_.access == AccessKind::Execute || (fault_.address && *fault_.address == crash_[Rip])) {
      fault_.kind = FaultKind::WildJump;
      fault_.access = AccessKind::Execute;
    } else if (is_overflow()) {
      fault_.kind = FaultKind::StackOverflow;
    }
  }

  // Which of the instruction's operands leads to the address; where the kernel says none, that which leads to no address at all.
  void find_operand() {
    if (!fault_.instruction) return;
    const std::uint64_t next = crash_[Rip] + fault_.instruction->length;
    const auto& target = fault_.instruction->target;
    const Operation operation = fault_.instruction->operation;
    if (!fault_.address && target && operation != Operation::Divide && !is_canonical(crash_[*target])) {
      fault_.address = crash_[*target];
      fault_.access = AccessKind::Execute;
      fault_.from_operand = true;
      return;
    }
    for (std::size_t i = 0; i < fault_.instruction->operands.size(); ++i) {
      const auto& operand = fault_.instruction->operands[i];
      const auto address = operand ? address_of(*operand, crash_.registers, next) : std::nullopt;
      if (!address) continue;
      const unsigned bytes = fault_.instruction->bytes;
      // An access that crosses a page faults at the second one.
      const bool fits = fault_.address ? *fault_.address - *address < std::max(bytes, 64U) : !is_canonical(*address);
      if (!fits) continue;
      fault_.operand = operand;
      fault_.bytes = bytes;
      if (!fault_.address) {
        fault_.address = address;
        fault_.from_operand = true;
      }
      return;
    }
  }

  // Memory beside the stack pointer is always there, unless the stack may not grow any further: then there is nothing, or a page that nobody
  // may use.
  bool is_overflow() { return fault_.address && crash_.trap == kPageFault && is_near_stack(); }
  bool is_near_stack() {
    const std::uint64_t top = stack_top_of(crash_, threads_), sp = crash_[Rsp];
    if (top == 0 || sp >= top || top - sp > kLargestStack) return false;
    if (*fault_.address + kNearStack < sp || *fault_.address > sp + kNearStack) return false;
    fault_.stack_bytes = top - sp;
    return true;
  }

  const Crash& crash_;
  const std::span<const Thread> threads_;
  Fault fault_;
};

} // namespace

Fault fault_of(const Crash& crash, std::span<const Thread> threads) { return FaultFinder(crash, threads).find(); }

const char* fault_kind_name(FaultKind kind) {
  switch (kind) {
  case FaultKind::Memory: return "memory";
  case FaultKind::StackOverflow: return "stack overflow";
  case FaultKind::WildJump: return "wild jump";
  case FaultKind::FileEnd: return "end of file";
  case FaultKind::Misaligned: return "misaligned";
  case FaultKind::Division: return "division";
  case FaultKind::FloatingPoint: return "floating point";
  case FaultKind::IllegalInstruction: return "illegal instruction";
  case FaultKind::Trap: return "trap";
  case FaultKind::ForbiddenCall: return "forbidden system call";
  case FaultKind::Abort: return "abort";
  case FaultKind::Sent: return "sent";
  case FaultKind::Other: break;
  }
  return "other";
}

const char* access_word(AccessKind kind) {
  switch (kind) {
  case AccessKind::Read: return "read";
  case AccessKind::Write: return "write";
  case AccessKind::Execute: return "execution";
  case AccessKind::Unknown: break;
  }
  return "access";
}

std::string operand_text(const MemoryOperand& operand) {
  std::string text = operand.relative_to_rip ? "rip" : operand.base ? register_name(*operand.base) : "";
  if (operand.index) {
    text += text.empty() ? "" : " + ";
    if (operand.scale != 1) text += fmt::format("{}*", operand.scale);
    text += register_name(*operand.index);
  }
  if (operand.displacement == 0 && !text.empty()) return text;
  const bool negative = operand.displacement < 0;
  const auto size = negative ? ~static_cast<std::uint64_t>(operand.displacement) + 1
                             : static_cast<std::uint64_t>(operand.displacement);
  if (text.empty()) return fmt::format("{:#x}", static_cast<std::uint64_t>(operand.displacement));
  return text + fmt::format(" {} {:#x}", negative ? '-' : '+', size);
}

} // namespace heaptape
