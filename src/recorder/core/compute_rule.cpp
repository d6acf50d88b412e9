// From a row of .eh_frame to a rule of eight bytes.
#include "recorder/core/byte_walk.h"
#include "recorder/core/cfi.h"
#include "recorder/core/generated_code.h"
#include "recorder/core/modules.h"
#include "recorder/core/rules.h"

namespace heaptape::recorder {

namespace {

constexpr std::uint8_t kOpBregRbp = 0x76, kOpDeref = 0x06;

// RBP + offset, then optionally a load: the only expressions compilers write for functions that realign their stack.
bool is_rbp_expression(const std::uint8_t* expression, bool loads, std::int64_t& offset) noexcept {
  ByteWalk length(expression, expression + 10);
  const std::uint64_t size = length.uleb();
  if (size > 16) return false;
  ByteWalk walk(length.at(), length.at() + size);
  if (walk.fixed<std::uint8_t>() != kOpBregRbp) return false;
  offset = walk.sleb();
  if (loads && walk.fixed<std::uint8_t>() != kOpDeref) return false;
  return !walk.bad() && walk.done();
}

bool fits(std::int64_t offset, Rule& rule) noexcept {
  if (offset != static_cast<std::int32_t>(offset)) return false;
  rule.cfa_offset = static_cast<std::int32_t>(offset);
  return true;
}

bool set_rbp(std::int64_t offset, Rule& rule) noexcept {
  const std::int64_t words = offset / 8;
  if (offset % 8 != 0 || words == 0 || words != static_cast<std::int16_t>(words)) return false;
  rule.rbp_words = static_cast<std::int16_t>(words);
  return true;
}

Rule from_row(const CfiRow& row, bool signal_frame) noexcept {
  constexpr Rule kSlow{0, 0, RuleKind::Slow, 0};
  if (signal_frame) return kSlow;
  if (row.return_address.how() == How::Undefined) return {0, 0, RuleKind::End, 0};
  if (row.return_address.how() != How::AtOffset || row.return_address.value() != -8) return kSlow;
  Rule rule;
  if (row.cfa_expression != nullptr) {
    std::int64_t offset = 0;
    if (!is_rbp_expression(row.cfa_expression, true, offset) || !fits(offset, rule)) return kSlow;
    rule.kind = RuleKind::Drap;
    if (row.rbp.how() == How::Same) return rule;
    if (row.rbp.how() != How::AtExpression || !is_rbp_expression(row.rbp.expression(), false, offset)) return kSlow;
    rule.flags = kSavesRbp;
    return set_rbp(offset, rule) || offset == 0 ? rule : kSlow;
  }
  if (!fits(row.cfa_offset, rule)) return kSlow;
  if (row.cfa_register == kRsp) {
    rule.kind = RuleKind::Rsp;
  } else if (row.cfa_register == kRbp) {
    rule.kind = RuleKind::Rbp;
  } else {
    return kSlow;
  }
  if (row.rsp.how() != How::Same) return kSlow;
  if (row.rbp.how() == How::Same || row.rbp.how() == How::Undefined) return rule;
  if (row.rbp.how() == How::AtOffset && set_rbp(row.rbp.value(), rule)) return rule;
  return kSlow;
}

} // namespace

Rule compute_rule(std::uint64_t pc) noexcept {
  if (pc < 4096 || pc >> 47 != 0) return {};
  const CodeObject object = find_object(pc - 1);
  if (object.start == 0) return is_generated_code(pc - 1) ? generated_rule(pc) : Rule{};
  note_module(object);
  CfiRow row;
  bool signal_frame = false;
  switch (find_row(object, pc - 1, row, signal_frame)) {
  case CfiResult::Found: return from_row(row, signal_frame);
  case CfiResult::NoInformation:
    // Nobody calls a signal trampoline or the start of a coroutine: they are "returned to" at their first byte, and the
    // byte before that belongs to nobody. The former leads on to what was interrupted, the latter nowhere.
    if (find_row(object, pc, row, signal_frame) == CfiResult::Found) {
      return signal_frame ? from_row(row, true) : Rule{0, 0, RuleKind::End, 0};
    }
    return kFramePointer;
  case CfiResult::Unsupported: break;
  }
  return {0, 0, RuleKind::Slow, 0};
}

} // namespace heaptape::recorder
