#include "recorder/core/capture.h"
#include "recorder/core/cfi.h"
#include "recorder/core/expression.h"
#include "recorder/core/recorder.h"

namespace heaptape::recorder {

namespace {

// Reads stack words anywhere the kernel lets us; remembers the page it asked about last.
struct Memory {
  const StackMemory* stack;
  std::uint64_t good_page = 1; // no page
};

bool read_word(void* context, std::uint64_t address, std::uint64_t& word) noexcept {
  auto& memory = *static_cast<Memory*>(context);
  if ((address & 7) != 0) return false;
  if (!memory.stack->own().holds(address) && (address & ~std::uint64_t{4095}) != memory.good_page) {
    if (!page_is_readable(address)) return false;
    memory.good_page = address & ~std::uint64_t{4095};
  }
  word = *reinterpret_cast<const std::uint64_t*>(address);
  return true;
}

struct Walk {
  std::uint64_t registers[kRegisters];
  std::uint64_t pc;
  bool exact; // pc is where the thread was interrupted, not a return address
};

bool apply(const RegisterRule& rule, std::uint64_t cfa, const std::uint64_t (&registers)[kRegisters], Memory& memory,
           std::uint64_t& value) noexcept {
  std::uint64_t address = 0;
  switch (rule.how()) {
  case How::Same:
  case How::Undefined: return true;
  case How::AtOffset: return read_word(&memory, cfa + static_cast<std::uint64_t>(rule.value()), value);
  case How::Offset: value = cfa + static_cast<std::uint64_t>(rule.value()); return true;
  case How::AtExpression:
    return evaluate(rule.expression(), registers, true, cfa, read_word, &memory, address) &&
           read_word(&memory, address, value);
  case How::Expression: return evaluate(rule.expression(), registers, true, cfa, read_word, &memory, value);
  case How::Register:
    if (rule.value() < 0 || rule.value() >= std::int64_t{kRegisters}) return false;
    value = registers[rule.value()];
    return true;
  }
  return false;
}

enum class Step : std::uint8_t { Taken, Ended, Cut };

Step step(Walk& walk, Memory& memory) noexcept {
  const std::uint64_t inside = walk.exact ? walk.pc : walk.pc - 1;
  const CodeObject object = find_object(inside);
  CfiRow row;
  bool signal_frame = false;
  CfiResult found = object.start != 0 ? find_row(object, inside, row, signal_frame) : CfiResult::NoInformation;
  if (found == CfiResult::NoInformation && object.start != 0 && !walk.exact) {
    // Trampolines are "returned to" at their first byte; see compute_rule().
    found = find_row(object, walk.pc, row, signal_frame);
    if (found == CfiResult::Found && !signal_frame) return Step::Ended;
  }
  if (found == CfiResult::Unsupported) return Step::Cut;
  if (found == CfiResult::NoInformation) {
    if (object.start == 0 && !is_generated_code(inside)) return Step::Cut;
    if (walk.registers[kRbp] == 0) return Step::Ended; // how start-up code marks the outermost frame
    row = {};
    row.cfa_register = kRbp;
    row.cfa_offset = 16;
    row.rbp = {How::AtOffset, -16};
    row.return_address = {How::AtOffset, -8};
  }
  if (row.return_address.how() == How::Undefined) return Step::Ended;

  std::uint64_t cfa = 0;
  if (row.cfa_expression != nullptr) {
    if (!evaluate(row.cfa_expression, walk.registers, false, 0, read_word, &memory, cfa)) return Step::Cut;
  } else if (row.cfa_register < kRegisters) {
    cfa = walk.registers[row.cfa_register] + static_cast<std::uint64_t>(row.cfa_offset);
  } else {
    return Step::Cut;
  }
  Walk next = walk;
  next.registers[kRsp] = cfa;
  for (const std::uint8_t which : {kRbx, kRbp, kRsp, kR10, kR12, std::uint8_t{13}, std::uint8_t{14}, kR15}) {
    if (!apply(*row.rule_of(which), cfa, walk.registers, memory, next.registers[which])) return Step::Cut;
  }
  if (!apply(row.return_address, cfa, walk.registers, memory, next.pc)) return Step::Cut;
  if (!signal_frame && next.registers[kRsp] <= walk.registers[kRsp]) return Step::Cut; // going nowhere
  next.exact = signal_frame;
  next.registers[kReturn] = next.pc;
  walk = next;
  return walk.pc != 0 ? Step::Taken : Step::Ended;
}

// The registers as they are here; only those that a caller can depend on matter.
[[gnu::always_inline]] inline void read_registers(Walk& walk) noexcept {
  std::uint64_t* r = walk.registers;
  for (std::size_t i = 0; i < kRegisters; ++i) r[i] = 0;
  asm volatile("movq %%rbx, 24(%0)\n\t"
               "movq %%rbp, 48(%0)\n\t"
               "movq %%rsp, 56(%0)\n\t"
               "movq %%r12, 96(%0)\n\t"
               "movq %%r13, 104(%0)\n\t"
               "movq %%r14, 112(%0)\n\t"
               "movq %%r15, 120(%0)\n\t"
               "leaq 1f(%%rip), %1\n\t"
               "1:"
               : "+r"(r), "=&r"(walk.pc)
               :
               : "memory");
  walk.exact = true;
}

} // namespace

std::uint32_t capture_slowly(ThreadState& thread, const Frame& site) noexcept {
  const std::uint32_t level = thread.slow_captures;
  if (level >= 2) return 0; // a handler inside a handler inside a capture: recorded without a stack
  thread.slow_captures = level + 1;
  std::uint64_t* pcs = thread.slow_pcs[level];
  const std::size_t most = g_recorder.max_depth;

  (void)thread.stack.around(site.slot);
  Memory memory{&thread.stack};
  Walk walk;
  read_registers(walk);
  // Out of our own frames first: the program's begin where the hook returns to.
  Step taken = Step::Taken;
  for (int own = 0; own < 16 && taken == Step::Taken && walk.registers[kRsp] != site.slot + 8; ++own)
    taken = step(walk, memory);
  std::uint64_t mark = wire::kMarkCut;
  std::size_t count = 0;
  if (taken == Step::Taken && walk.pc == site.pc) {
    while (taken == Step::Taken && count < most) {
      pcs[count++] = walk.pc;
      taken = step(walk, memory);
    }
    if (taken == Step::Ended) mark = 0;
    if (taken == Step::Taken) mark = wire::kMarkTooDeep;
  } else {
    pcs[count++] = site.pc;
  }

  std::uint32_t id = 0;
  std::uint64_t hash = kRootHash;
  const auto add = [&](std::uint64_t pc) {
    hash = path_hash(hash, pc);
    id = g_recorder.stacks.intern(id, pc, hash);
  };
  if (const std::uint32_t epoch = g_recorder.epoch.load(std::memory_order_relaxed); epoch != 0)
    add(wire::kMarkEpoch + epoch % wire::kEpochs);
  if (mark != 0) add(mark);
  for (std::size_t i = count; i > 0; --i) {
    const std::uint64_t pc = pcs[i - 1];
    if (pc >> 48 == 0) add(pc);
    (void)g_recorder.rules.find(pc); // makes its module known
  }
  thread.slow_captures = level;
  return id;
}

} // namespace heaptape::recorder
