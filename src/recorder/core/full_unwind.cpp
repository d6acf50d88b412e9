#include "recorder/core/full_unwind.h"

#include <initializer_list>

#include "recorder/core/expression.h"
#include "recorder/core/generated_code.h"
#include "recorder/core/recorder.h"
#include "wire/stack_roots.h"

namespace heaptape::recorder {

namespace {

bool read_word(void* context, std::uint64_t address, std::uint64_t& word) noexcept {
  auto& memory = *static_cast<WalkMemory*>(context);
  if ((address & 7) != 0) return false;
  if (!memory.stack->own().holds(address) && (address & ~std::uint64_t{4095}) != memory.good_page) {
    if (!page_is_readable(address)) return false;
    memory.good_page = address & ~std::uint64_t{4095};
  }
  word = *reinterpret_cast<const std::uint64_t*>(address);
  return true;
}

bool apply(const RegisterRule& rule, std::uint64_t cfa, const std::uint64_t (&registers)[kRegisters],
           WalkMemory& memory, std::uint64_t& value) noexcept {
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

} // namespace

WalkStep full_step(Walk& walk, WalkMemory& memory) noexcept {
  const std::uint64_t inside = walk.exact ? walk.pc : walk.pc - 1;
  const CodeObject object = find_object(inside);
  CfiRow row;
  bool signal_frame = false, doubtful = false;
  CfiResult found = object.start != 0 ? find_row(object, inside, row, signal_frame) : CfiResult::NoInformation;
  if (found == CfiResult::NoInformation && object.start != 0 && !walk.exact) {
    // Trampolines are "returned to" at their first byte; see compute_rule().
    found = find_row(object, walk.pc, row, signal_frame);
    if (found == CfiResult::Found && !signal_frame) return WalkStep::Ended;
  }
  if (found == CfiResult::Unsupported) return WalkStep::Cut;
  if (found == CfiResult::NoInformation) {
    if (object.start == 0 && !is_generated_code(inside)) return WalkStep::Cut;
    const Rule rule = object.start == 0 && !walk.exact ? generated_rule(walk.pc) : kFramePointer;
    const bool guessed = (rule.flags & kGuessed) != 0;
    if (guessed && walk.registers[kRbp] == 0) return WalkStep::Ended; // how start-up code marks the outermost frame
    doubtful = true;
    row = {};
    row.cfa_register = rule.kind == RuleKind::Rbp ? kRbp : kRsp;
    row.cfa_offset = rule.cfa_offset;
    if (rule.rbp_words != 0) row.rbp = {How::AtOffset, std::int64_t{rule.rbp_words} * 8};
    row.return_address = {How::AtOffset, -8};
  }
  if (row.return_address.how() == How::Undefined) return WalkStep::Ended;

  std::uint64_t cfa = 0;
  if (row.cfa_expression != nullptr) {
    if (!evaluate(row.cfa_expression, walk.registers, false, 0, read_word, &memory, cfa)) return WalkStep::Cut;
  } else if (row.cfa_register < kRegisters) {
    cfa = walk.registers[row.cfa_register] + static_cast<std::uint64_t>(row.cfa_offset);
  } else {
    return WalkStep::Cut;
  }
  Walk next = walk;
  next.registers[kRsp] = cfa;
  for (const std::uint8_t which : {kRbx, kRbp, kRsp, kR10, kR12, std::uint8_t{13}, std::uint8_t{14}, kR15}) {
    if (!apply(*row.rule_of(which), cfa, walk.registers, memory, next.registers[which])) return WalkStep::Cut;
  }
  if (!apply(row.return_address, cfa, walk.registers, memory, next.pc)) return WalkStep::Cut;
  if (!signal_frame && next.registers[kRsp] <= walk.registers[kRsp]) return WalkStep::Cut; // going nowhere
  if (doubtful && next.pc != 0 && !may_return_to(*g_recorder.rules.find(next.pc), next.pc)) return WalkStep::Cut;
  next.exact = signal_frame;
  next.registers[kReturn] = next.pc;
  walk = next;
  return walk.pc != 0 ? WalkStep::Taken : WalkStep::Ended;
}

std::uint32_t intern_pcs(const std::uint64_t* pcs, std::size_t count, std::uint64_t mark,
                         bool innermost_known) noexcept {
  std::uint32_t id = 0;
  std::uint64_t hash = kRootHash;
  const auto add = [&](std::uint64_t pc) {
    hash = path_hash(hash, pc);
    id = g_recorder.stacks.intern(id, pc, hash);
  };
  if (const std::uint32_t epoch = g_recorder.code_epoch.load(std::memory_order_relaxed); epoch != 0)
    add(wire::kRootCodeEpoch + epoch % wire::kCodeEpochs);
  if (const std::uint32_t epoch = g_recorder.epoch.load(std::memory_order_relaxed); epoch != 0)
    add(wire::kRootEpoch + epoch % wire::kEpochs);
  if (mark != 0) add(mark);
  for (std::size_t i = count; i > 0; --i) {
    const std::uint64_t pc = pcs[i - 1];
    if (pc >> 48 == 0) add(pc);
    if (i != 1 || !innermost_known) (void)g_recorder.rules.find(pc); // makes its module known
  }
  return id;
}

} // namespace heaptape::recorder
