#include "shell/crash_text.h"

#include <signal.h>

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/number_text.h"
#include "base/signal_name.h"
#include "report/crash/crash_line.h"
#include "shell/describe.h"
#include "shell/explanation_text.h"

namespace heaptape {
namespace {

using wire::AskerRegister;

constexpr std::uint64_t kNearNull = 0x10000;

class Headline {
public:
  Headline(Session& session, const Crash& crash, const Fault& fault, const std::optional<Explanation>& at)
      : session_(session), crash_(crash), fault_(fault), at_(at), site_(crash_site(session.names(), crash.stack)) {}

  std::string text() { return signal_name(static_cast<int>(crash_.signal)) + ": " + what() + where(); }

private:
  std::string what() {
    switch (fault_.kind) {
    case FaultKind::Memory: return access();
    case FaultKind::StackOverflow: return overflow();
    case FaultKind::WildJump: return jump();
    case FaultKind::FileEnd: return access_words() + ", beyond the end of a mapped file";
    case FaultKind::Misaligned: return access_words() + ", which is not aligned as the instruction needs it";
    case FaultKind::Division: return division();
    case FaultKind::FloatingPoint: return "a floating-point exception";
    case FaultKind::IllegalInstruction:
      return fault_.instruction && fault_.instruction->operation == Operation::Illegal
                 ? "the instruction ud2, which compilers put where a program must never get (__builtin_trap, "
                   "unreachable code)"
                 : "an instruction that the processor does not know";
    case FaultKind::Trap: return "a breakpoint or trap instruction, without a debugger";
    case FaultKind::ForbiddenCall:
      return fmt::format("the system call {}, which a seccomp filter forbids", crash_[AskerRegister::Rax]);
    case FaultKind::Abort: return is_by_itself() ? "abort()" : "sent by process " + std::to_string(fault_.sender);
    case FaultKind::Sent:
      return fault_.sender == 0 ? "sent by the kernel or a timer"
             : is_by_itself()   ? "sent by the program itself (raise or kill)"
                                : "sent by process " + std::to_string(fault_.sender);
    case FaultKind::Other: break;
    }
    return fmt::format("code {}", crash_.code);
  }

  bool is_by_itself() const { return fault_.sender == 0 || fault_.sender == session_.tape().header().pid; }

  // "read of 8 bytes at 0x18"
  std::string access_words() const {
    std::string text = access_word(fault_.access);
    if (fault_.bytes != 0) text += " of " + count_of(fault_.bytes, "byte");
    return fault_.address ? text + " at " + hex(*fault_.address) : text + " to memory";
  }

  std::string access() const {
    if (!fault_.address)
      return "an address that no program can have (not canonical); the instruction does not say which";
    std::string text = access_words();
    const std::uint64_t address = *fault_.address;
    if (address == 0) return text + ", through a null pointer";
    if (address < kNearNull)
      return text + fmt::format(", a null pointer plus {} (a member of a struct behind a null pointer, or an element "
                                "of such an array)",
                                with_separators(address));
    const bool freed = at_ && at_->kind == AddressKind::FreedBlock;
    if (at_) text += (freed ? ", in released memory: " : ", ") + verdict_text(session_, *at_);
    if (fault_.not_permitted)
      text += fault_.access == AccessKind::Write ? "; it may not be written" : "; it may not be read";
    return text;
  }

  std::string jump() const {
    const std::uint64_t address = *fault_.address;
    if (address < kNearNull)
      return address == 0 ? "call of a null function pointer"
                          : fmt::format("jump to {}, where there is no code: a damaged function pointer", hex(address));
    return fmt::format("jump to {}, where there is no code: {}", hex(address),
                       at_ ? verdict_text(session_, *at_) : std::string("nothing is known there"));
  }

  std::string division() const {
    const bool divides = fault_.instruction && fault_.instruction->operation == Operation::Divide;
    if (divides && fault_.instruction->target) {
      const std::uint64_t divisor = crash_[*fault_.instruction->target];
      if ((divisor & 0xffff'ffff) == 0) return "integer division by zero";
      return "integer division whose result is too large (the smallest number by -1)";
    }
    return "integer division by zero, or with a result that is too large";
  }

  // "stack overflow: 8.4 MB of stack, f called itself about 52,000 times"
  std::string overflow() {
    std::string text = "stack overflow: " + bytes_text(fault_.stack_bytes) + " of stack";
    std::map<std::string, std::uint64_t> calls;
    const std::vector<FrameId> frames = session_.names().frames_of(crash_.stack);
    for (const FrameId frame : frames) ++calls[printable(session_.names().function(frame))];
    std::vector<std::pair<std::uint64_t, std::string>> by_count;
    for (const auto& [name, count] : calls) by_count.emplace_back(count, name);
    std::sort(by_count.rbegin(), by_count.rend());
    if (frames.size() < 8 || by_count.empty()) return text + ", most of it in few frames: a large array or alloca?";
    const std::uint64_t all = std::max<std::uint64_t>(crash_.frames, frames.size());
    const std::uint64_t times = by_count[0].first * all / frames.size();
    const std::string about =
        fmt::format("{}{} times", all > frames.size() ? "about " : "", with_separators(rounded(times)));
    if (by_count.size() == 1 || by_count[1].first * 4 < by_count[0].first)
      return by_count[0].first < 4 ? text : text + fmt::format(", {} called itself {}", by_count[0].second, about);
    if (by_count[0].first < 4) return text;
    return text + fmt::format(", {} and {} called each other {}", by_count[0].second, by_count[1].second, about);
  }
  // To three digits.
  static std::uint64_t rounded(std::uint64_t number) {
    std::uint64_t unit = 1;
    while (number / unit >= 1000) unit *= 10;
    return number / unit * unit;
  }

  std::string where() {
    if (!site_.frame) return "";
    const std::string site = crash_site_text(session_.names(), *site_.frame);
    if (fault_.kind == FaultKind::Abort || fault_.kind == FaultKind::WildJump) return ", called by " + site;
    if (!site_.inside) return ", in " + site;
    const std::vector<FrameId> frames = session_.names().frames_of(crash_.stack);
    return ", in " + printable(session_.names().function(frames.front())) + " called by " + site;
  }

  Session& session_;
  const Crash& crash_;
  const Fault& fault_;
  const std::optional<Explanation>& at_;
  const CrashSite site_;
};

} // namespace

std::string crash_headline(Session& session, const Crash& crash, const Fault& fault,
                           const std::optional<Explanation>& at) {
  return Headline(session, crash, fault, at).text();
}

std::string address_meaning(Session& session, const Explanation& at) {
  if (at.kind == AddressKind::Nothing) return {};
  std::string text = verdict_text(session, at);
  if (at.block) {
    if (at.block->ended == LifeEnd::Released) text += ", by " + session.stacks().site(at.block->ender.stack);
    text += ", made by " + session.stacks().site(at.block->owner.stack);
  }
  return text;
}

} // namespace heaptape
