#include "symbols/unwind_expression.h"

#include <vector>

#include "symbols/dwarf_bytes.h"

namespace heaptape {

namespace {

constexpr std::size_t kMostValues = 64;
constexpr int kMostOperations = 4096; // an expression may jump backwards

enum Operation : std::uint8_t {
  kAddr = 0x03,
  kDeref = 0x06,
  kConst1u = 0x08,
  kConst1s = 0x09,
  kConst2u = 0x0a,
  kConst2s = 0x0b,
  kConst4u = 0x0c,
  kConst4s = 0x0d,
  kConst8u = 0x0e,
  kConst8s = 0x0f,
  kConstu = 0x10,
  kConsts = 0x11,
  kDup = 0x12,
  kDrop = 0x13,
  kOver = 0x14,
  kPick = 0x15,
  kSwap = 0x16,
  kAnd = 0x1a,
  kMinus = 0x1c,
  kMul = 0x1e,
  kNeg = 0x1f,
  kNot = 0x20,
  kOr = 0x21,
  kPlus = 0x22,
  kPlusUconst = 0x23,
  kShl = 0x24,
  kShr = 0x25,
  kShra = 0x26,
  kXor = 0x27,
  kBra = 0x28,
  kEq = 0x29,
  kGe = 0x2a,
  kGt = 0x2b,
  kLe = 0x2c,
  kLt = 0x2d,
  kNe = 0x2e,
  kSkip = 0x2f,
  kLit0 = 0x30,
  kLit31 = 0x4f,
  kBreg0 = 0x70,
  kBreg31 = 0x8f,
  kBregx = 0x92,
  kNopOperation = 0x96,
};

// Values; taking one too many spoils it.
class Stack {
public:
  void push(std::uint64_t value) {
    if (values_.size() == kMostValues)
      bad_ = true;
    else
      values_.push_back(value);
  }
  std::uint64_t pop() {
    if (values_.empty()) {
      bad_ = true;
      return 0;
    }
    const std::uint64_t value = values_.back();
    values_.pop_back();
    return value;
  }
  std::uint64_t pick(std::size_t depth) {
    if (depth < values_.size()) return values_[values_.size() - 1 - depth];
    bad_ = true;
    return 0;
  }
  bool bad() const { return bad_; }
  void spoil() { bad_ = true; }

private:
  std::vector<std::uint64_t> values_;
  bool bad_ = false;
};

// What two values give; nullopt: the operation is another one.
std::optional<std::uint64_t> joined(std::uint8_t operation, std::uint64_t left, std::uint64_t right) {
  const auto signed_left = static_cast<std::int64_t>(left), signed_right = static_cast<std::int64_t>(right);
  switch (operation) {
  case kAnd: return left & right;
  case kMinus: return left - right;
  case kMul: return left * right;
  case kOr: return left | right;
  case kPlus: return left + right;
  case kShl: return right < 64 ? left << right : 0;
  case kShr: return right < 64 ? left >> right : 0;
  case kShra: return static_cast<std::uint64_t>(signed_left >> (right < 64 ? right : 63));
  case kXor: return left ^ right;
  case kEq: return left == right;
  case kGe: return signed_left >= signed_right;
  case kGt: return signed_left > signed_right;
  case kLe: return signed_left <= signed_right;
  case kLt: return signed_left < signed_right;
  case kNe: return left != right;
  default: return std::nullopt;
  }
}

class Evaluation {
public:
  Evaluation(ByteSpan bytes, std::span<const std::uint64_t> registers, const ReadWord& read)
      : bytes_(bytes), reader_(bytes), registers_(registers), read_(read) {}

  std::optional<std::uint64_t> run(std::optional<std::uint64_t> first) {
    if (first) stack_.push(*first);
    for (int steps = 0; reader_.ok() && !reader_.done(); ++steps) {
      if (steps == kMostOperations || stack_.bad()) return std::nullopt;
      step(reader_.u8());
    }
    const std::uint64_t result = stack_.pop();
    if (!reader_.ok() || stack_.bad()) return std::nullopt;
    return result;
  }

private:
  void push_register(std::uint64_t which) {
    const auto offset = static_cast<std::uint64_t>(dwarf::signed_leb(reader_));
    if (which < registers_.size())
      stack_.push(registers_[which] + offset);
    else
      stack_.spoil();
  }
  void jump() {
    const auto distance = static_cast<std::int16_t>(reader_.u16());
    if (!reader_.ok()) return;
    const std::int64_t target = static_cast<std::int64_t>(bytes_.size() - reader_.remaining()) + distance;
    if (target < 0 || target > static_cast<std::int64_t>(bytes_.size()))
      reader_.fail();
    else
      reader_ = ByteReader(bytes_.subspan(static_cast<std::size_t>(target)));
  }
  template <class Number>
  void push_signed(Number number) {
    stack_.push(static_cast<std::uint64_t>(static_cast<std::int64_t>(number)));
  }

  void step(std::uint8_t operation) {
    if (operation >= kLit0 && operation <= kLit31) return stack_.push(operation - std::uint64_t{kLit0});
    if (operation >= kBreg0 && operation <= kBreg31) return push_register(operation - std::uint64_t{kBreg0});
    switch (operation) {
    case kAddr:
    case kConst8u:
    case kConst8s: return stack_.push(reader_.u64());
    case kConst1u: return stack_.push(reader_.u8());
    case kConst1s: return push_signed(static_cast<std::int8_t>(reader_.u8()));
    case kConst2u: return stack_.push(reader_.u16());
    case kConst2s: return push_signed(static_cast<std::int16_t>(reader_.u16()));
    case kConst4u: return stack_.push(reader_.u32());
    case kConst4s: return push_signed(static_cast<std::int32_t>(reader_.u32()));
    case kConstu: return stack_.push(reader_.varint());
    case kConsts: return push_signed(dwarf::signed_leb(reader_));
    case kDeref: {
      const std::optional<std::uint64_t> word = read_(stack_.pop());
      return word ? stack_.push(*word) : stack_.spoil();
    }
    case kDup: return stack_.push(stack_.pick(0));
    case kDrop: return static_cast<void>(stack_.pop());
    case kOver: return stack_.push(stack_.pick(1));
    case kPick: return stack_.push(stack_.pick(reader_.u8()));
    case kSwap: {
      const std::uint64_t top = stack_.pop(), below = stack_.pop();
      stack_.push(top);
      return stack_.push(below);
    }
    case kNeg: return stack_.push(~stack_.pop() + 1);
    case kNot: return stack_.push(~stack_.pop());
    case kPlusUconst: return stack_.push(stack_.pop() + reader_.varint());
    case kBra:
      if (stack_.pop() == 0) return static_cast<void>(reader_.u16());
      return jump();
    case kSkip: return jump();
    case kBregx: return push_register(reader_.varint());
    case kNopOperation: return;
    default: break;
    }
    const std::uint64_t right = stack_.pop(), left = stack_.pop();
    const std::optional<std::uint64_t> both = joined(operation, left, right);
    return both ? stack_.push(*both) : stack_.spoil();
  }

  ByteSpan bytes_;
  ByteReader reader_;
  std::span<const std::uint64_t> registers_;
  const ReadWord& read_;
  Stack stack_;
};

} // namespace

std::optional<std::uint64_t> evaluate_expression(ByteSpan expression, std::span<const std::uint64_t> registers,
                                                 std::optional<std::uint64_t> first, const ReadWord& read) {
  return Evaluation(expression, registers, read).run(first);
}

} // namespace heaptape
