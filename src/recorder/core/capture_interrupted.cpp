#include "recorder/core/capture_interrupted.h"

#include "recorder/core/call_site.h"
#include "recorder/core/full_unwind.h"
#include "recorder/core/generated_code.h"
#include "recorder/core/modules.h"
#include "recorder/core/recorder.h"
#include "wire/stack_roots.h"

namespace heaptape::recorder {

namespace {

std::uint64_t load(std::uint64_t address) noexcept { return *reinterpret_cast<const std::uint64_t*>(address); }

void read_registers(const ucontext_t& context, Walk& walk) noexcept {
  constexpr int kFrom[kRegisters] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                     REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  for (std::size_t i = 0; i < kRegisters; ++i)
    walk.registers[i] = static_cast<std::uint64_t>(context.uc_mcontext.gregs[kFrom[i]]);
  walk.pc = walk.registers[kReturn];
  walk.exact = true;
}

// The words of a stack that a frame leads to.
class Words {
public:
  Words(StackMemory& memory, std::uint64_t slot) noexcept : memory_(memory), range_(memory.around(slot)) {}
  bool holds(std::uint64_t address) noexcept {
    return (address & 7) == 0 && (range_.holds(address) || memory_.extend_up(range_, address));
  }

private:
  StackMemory& memory_;
  Range& range_;
};

// Goes to the caller by a remembered rule. capture.cpp does the same with a cache, because there every nanosecond counts.
WalkStep rule_step(Words& words, Rule rule, Frame& frame) noexcept {
  std::uint64_t cfa = 0;
  switch (rule.kind) {
  case RuleKind::Rsp: cfa = rule.cfa(frame.slot + 8); break;
  case RuleKind::Rbp: cfa = rule.cfa(frame.rbp); break;
  case RuleKind::Drap:
    if (!words.holds(rule.cfa(frame.rbp))) return WalkStep::Cut;
    cfa = load(rule.cfa(frame.rbp));
    break;
  case RuleKind::End: return WalkStep::Ended;
  case RuleKind::Stop:
  case RuleKind::Slow: return WalkStep::Cut;
  }
  const std::uint64_t next = cfa - 8;
  if (next <= frame.slot || !words.holds(next)) return WalkStep::Cut;
  const bool saves_rbp = rule.kind == RuleKind::Drap ? (rule.flags & kSavesRbp) != 0 : rule.rbp_words != 0;
  if (saves_rbp) {
    const std::uint64_t base = rule.kind == RuleKind::Drap ? frame.rbp : cfa;
    const std::uint64_t saved = rule.rbp_at(base);
    if (!words.holds(saved)) return WalkStep::Cut;
    frame.rbp = load(saved);
  }
  frame.slot = next;
  frame.pc = load(next);
  return frame.pc != 0 ? WalkStep::Taken : WalkStep::Ended;
}

struct Found {
  std::size_t count = 0;
  std::uint64_t mark = 0;
  bool needs_more = false; // than rules: a signal frame, for one
};

// The pcs from a frame outward by rules, which are quick. Of those beyond `room` only the number.
Found follow_rules(StackMemory& memory, Frame frame, std::uint64_t* pcs, std::size_t room, std::size_t most) noexcept {
  Found found;
  Words words(memory, frame.slot);
  RuleEntry* entry = nullptr;
  std::uint8_t doubts = 0;
  for (;;) {
    if (found.count == most) {
      found.mark = wire::kRootTooDeep;
      return found;
    }
    entry = entry != nullptr ? g_recorder.rules.find_next(entry, frame.pc) : g_recorder.rules.find(frame.pc);
    const Rule rule = entry->rule;
    if (rule.kind == RuleKind::Slow) {
      found.needs_more = true;
      return found;
    }
    if (doubts != 0 && !may_return_to(*entry, frame.pc)) { // this is not a frame
      found.mark = wire::kRootCut;
      return found;
    }
    if (found.count < room) pcs[found.count] = frame.pc;
    ++found.count;
    doubts = rule.flags & kDoubtful;
    const WalkStep taken = rule_step(words, rule, frame);
    if (taken == WalkStep::Taken) continue;
    // A frame pointer of zero is how start-up code marks the outermost frame.
    if (taken == WalkStep::Cut && !((doubts & kGuessed) != 0 && frame.rbp == 0)) found.mark = wire::kRootCut;
    return found;
  }
}

Found follow_tables(Walk walk, WalkMemory& memory, std::uint64_t* pcs, std::size_t most) noexcept {
  Found found;
  WalkStep taken = WalkStep::Taken;
  while (taken == WalkStep::Taken && found.count < most) {
    pcs[found.count++] = walk.pc;
    taken = full_step(walk, memory);
  }
  if (taken != WalkStep::Ended) found.mark = taken == WalkStep::Cut ? wire::kRootCut : wire::kRootTooDeep;
  return found;
}

bool is_no_code(std::uint64_t pc) noexcept { return find_object(pc).start == 0 && !is_generated_code(pc); }
bool words_hold(StackMemory& memory, std::uint64_t address) noexcept { return Words(memory, address).holds(address); }

constexpr std::size_t kMostCounted = std::size_t{1} << 22; // a stack of 64 MB can hold that many

// The pcs of the callers of an interrupted instruction.
struct Callers {
  StackMemory& stack;
  std::uint64_t* pcs;
  std::size_t room;
  std::size_t most; // that are counted
};

Found follow_interrupted(Walk walk, const Callers& callers) noexcept {
  WalkMemory memory{&callers.stack};
  Found outer;
  switch (full_step(walk, memory)) {
  case WalkStep::Ended: break;
  case WalkStep::Cut: outer.mark = wire::kRootCut; break;
  case WalkStep::Taken:
    outer.needs_more = walk.exact;
    if (!walk.exact) {
      const Frame caller{walk.pc, walk.registers[kRsp] - 8, walk.registers[kRbp]};
      outer = follow_rules(callers.stack, caller, callers.pcs, callers.room, callers.most);
    }
    if (outer.needs_more) outer = follow_tables(walk, memory, callers.pcs, callers.room);
    break;
  }
  return outer;
}

// A call of what is no code has put the address behind it on the stack, and nothing else has happened.
Found follow_wild_call(Walk walk, const Callers& callers) noexcept {
  const std::uint64_t slot = walk.registers[kRsp];
  walk.pc = walk.registers[kReturn] = load(slot);
  walk.registers[kRsp] = slot + 8;
  walk.exact = false;
  if (walk.pc == 0 || !may_return_to(*g_recorder.rules.find(walk.pc), walk.pc)) return {0, wire::kRootCut, false};
  const Frame caller{walk.pc, slot, walk.registers[kRbp]};
  const Found outer = follow_rules(callers.stack, caller, callers.pcs, callers.room, callers.most);
  if (!outer.needs_more) return outer;
  WalkMemory memory{&callers.stack};
  return follow_tables(walk, memory, callers.pcs, callers.room);
}

// `standing`: an address on the stack, at the stack pointer or above it, that can be read.
CrashStack capture_at(ThreadState& thread, const ucontext_t& context, std::uint64_t standing, bool is_crash) noexcept {
  std::uint64_t* const pcs = thread.sample_pcs;
  const std::size_t room = g_recorder.max_depth - 1;
  Walk walk;
  read_registers(context, walk);
  if (const CodeObject object = find_object(walk.pc); object.start != 0) note_module(object);
  pcs[0] = walk.pc + 1;

  // A copy: the capture that was interrupted may be using the original.
  StackMemory stack = thread.stack;
  (void)stack.around(standing);
  thread.stack.learn(stack);
  const Callers callers{stack, pcs + 1, room, is_crash ? kMostCounted : room};
  const bool is_wild = is_crash && is_no_code(walk.pc) && words_hold(stack, walk.registers[kRsp]);
  Found outer = is_wild ? follow_wild_call(walk, callers) : follow_interrupted(walk, callers);
  CrashStack found;
  found.frames = outer.mark == wire::kRootTooDeep ? 0 : 1 + outer.count;
  if (outer.count > room) {
    outer.count = room;
    outer.mark = wire::kRootTooDeep;
  }
  const bool is_address = pcs[0] >= wire::kFirstAddress; // not after a call of null
  found.stack = is_address ? intern_pcs(pcs, 1 + outer.count, outer.mark, true)
                           : intern_pcs(pcs + 1, outer.count, outer.mark, false);
  return found;
}

} // namespace

std::uint32_t capture_interrupted(ThreadState& thread, const ucontext_t& context) noexcept {
  return capture_at(thread, context, static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RSP]), false).stack;
}

CrashStack capture_crashed(ThreadState& thread, const ucontext_t& context) noexcept {
  constexpr std::uint64_t kPage = 4096, kMostPages = 4096; // a frame may be as large as that
  auto standing = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RSP]);
  if (!in_sandbox() && !page_is_readable(standing)) {
    std::uint64_t left = kMostPages;
    do standing = (standing & ~(kPage - 1)) + kPage;
    while (--left != 0 && !page_is_readable(standing));
  }
  return capture_at(thread, context, standing, true);
}

SignalFrame find_signal_frame(ThreadState& thread, const ucontext_t& context,
                              bool (*is_meant)(const SignalFrame&)) noexcept {
  constexpr int kMostOfHandler = 200;    // of a handler
  constexpr std::size_t kInfo = 304;     // from the context that the kernel leaves: its own is shorter than libc's
  constexpr std::size_t kInfoBytes = 32; // of the information, that are read
  Walk walk;
  read_registers(context, walk);
  StackMemory stack = thread.stack;
  (void)stack.around(walk.registers[kRsp]);
  WalkMemory memory{&stack};
  for (int i = 0; i < kMostOfHandler; ++i) {
    const std::uint64_t at = walk.registers[kRsp];
    if (full_step(walk, memory) != WalkStep::Taken) return {};
    if (!walk.exact) continue; // not the frame in which a handler returns to the kernel
    if ((at & 7) != 0 || !page_is_readable(at) || !page_is_readable(at + kInfo + kInfoBytes)) return {};
    const SignalFrame frame{reinterpret_cast<const ucontext_t*>(at), reinterpret_cast<const siginfo_t*>(at + kInfo)};
    if (is_meant(frame)) return frame;
  }
  return {};
}

} // namespace heaptape::recorder
