#include "recorder/core/expression.h"

#include "recorder/core/byte_walk.h"

namespace heaptape::recorder {

namespace {

constexpr std::size_t kDepth = 16;
constexpr int kMostOperations = 512; // an expression may jump backwards

class Stack {
public:
  void push(std::uint64_t value) noexcept {
    if (count_ == kDepth) {
      bad_ = true;
    } else {
      values_[count_++] = value;
    }
  }
  std::uint64_t pop() noexcept {
    if (count_ == 0) {
      bad_ = true;
      return 0;
    }
    return values_[--count_];
  }
  std::uint64_t pick(std::uint64_t depth) noexcept {
    if (depth >= count_) {
      bad_ = true;
      return 0;
    }
    return values_[count_ - 1 - depth];
  }
  bool bad() const noexcept { return bad_; }

private:
  std::uint64_t values_[kDepth];
  std::size_t count_ = 0;
  bool bad_ = false;
};

// The operations on the two topmost values; false when it is not one of them.
bool apply_binary(std::uint8_t operation, Stack& stack) noexcept {
  if (operation < 0x1a || operation > 0x2e || operation == 0x1f || operation == 0x20 || operation == 0x23 ||
      operation == 0x28) {
    return false;
  }
  const std::uint64_t right = stack.pop();
  const std::uint64_t left = stack.pop();
  const auto signed_left = static_cast<std::int64_t>(left);
  const auto signed_right = static_cast<std::int64_t>(right);
  switch (operation) {
  case 0x1a: stack.push(left & right); return true;
  case 0x1c: stack.push(left - right); return true;
  case 0x1e: stack.push(left * right); return true;
  case 0x21: stack.push(left | right); return true;
  case 0x22: stack.push(left + right); return true;
  case 0x24: stack.push(right < 64 ? left << right : 0); return true;
  case 0x25: stack.push(right < 64 ? left >> right : 0); return true;
  case 0x26: stack.push(static_cast<std::uint64_t>(signed_left >> (right < 64 ? right : 63))); return true;
  case 0x27: stack.push(left ^ right); return true;
  case 0x29: stack.push(left == right); return true;
  case 0x2a: stack.push(signed_left >= signed_right); return true;
  case 0x2b: stack.push(signed_left > signed_right); return true;
  case 0x2c: stack.push(signed_left <= signed_right); return true;
  case 0x2d: stack.push(signed_left < signed_right); return true;
  case 0x2e: stack.push(left != right); return true;
  default: return false;
  }
}

} // namespace

bool evaluate(const std::uint8_t* expression, const std::uint64_t (&registers)[kRegisters], bool push_cfa,
              std::uint64_t cfa, ReadWord read, void* context, std::uint64_t& result) noexcept {
  ByteWalk length(expression, expression + 10);
  const std::uint64_t size = length.uleb();
  if (length.bad() || size > 4096) return false;
  const std::uint8_t* begin = length.at();
  const std::uint8_t* end = begin + size;
  ByteWalk walk(begin, end);
  Stack stack;
  if (push_cfa) stack.push(cfa);
  for (int steps = 0; !walk.done(); ++steps) {
    if (steps == kMostOperations || stack.bad()) return false;
    const auto operation = walk.fixed<std::uint8_t>();
    if (operation >= 0x30 && operation <= 0x4f) { // DW_OP_lit
      stack.push(operation - 0x30u);
      continue;
    }
    if (operation >= 0x70 && operation <= 0x8f) { // DW_OP_breg
      const std::size_t which = operation - 0x70u;
      if (which >= kRegisters) return false;
      stack.push(registers[which] + static_cast<std::uint64_t>(walk.sleb()));
      continue;
    }
    if (apply_binary(operation, stack)) continue;
    switch (operation) {
    case 0x03: stack.push(walk.fixed<std::uint64_t>()); break; // addr
    case 0x06: {                                               // deref
      std::uint64_t word = 0;
      if (!read(context, stack.pop(), word)) return false;
      stack.push(word);
      break;
    }
    case 0x08: stack.push(walk.fixed<std::uint8_t>()); break;
    case 0x09: stack.push(static_cast<std::uint64_t>(std::int64_t{walk.fixed<std::int8_t>()})); break;
    case 0x0a: stack.push(walk.fixed<std::uint16_t>()); break;
    case 0x0b: stack.push(static_cast<std::uint64_t>(std::int64_t{walk.fixed<std::int16_t>()})); break;
    case 0x0c: stack.push(walk.fixed<std::uint32_t>()); break;
    case 0x0d: stack.push(static_cast<std::uint64_t>(std::int64_t{walk.fixed<std::int32_t>()})); break;
    case 0x0e:
    case 0x0f: stack.push(walk.fixed<std::uint64_t>()); break;
    case 0x10: stack.push(walk.uleb()); break;
    case 0x11: stack.push(static_cast<std::uint64_t>(walk.sleb())); break;
    case 0x12: stack.push(stack.pick(0)); break;                          // dup
    case 0x13: (void)stack.pop(); break;                                  // drop
    case 0x14: stack.push(stack.pick(1)); break;                          // over
    case 0x15: stack.push(stack.pick(walk.fixed<std::uint8_t>())); break; // pick
    case 0x16: {                                                          // swap
      const std::uint64_t top = stack.pop();
      const std::uint64_t below = stack.pop();
      stack.push(top);
      stack.push(below);
      break;
    }
    case 0x1f: stack.push(~stack.pop() + 1); break; // neg
    case 0x20: stack.push(~stack.pop()); break;     // not
    case 0x23: stack.push(stack.pop() + walk.uleb()); break;
    case 0x28:   // bra
    case 0x2f: { // skip
      const auto distance = walk.fixed<std::int16_t>();
      if (operation == 0x28 && stack.pop() == 0) break;
      const std::ptrdiff_t target = walk.at() - begin + distance;
      if (target < 0 || target > end - begin) return false;
      walk = ByteWalk(begin + target, end);
      break;
    }
    case 0x92: { // bregx
      const std::uint64_t which = walk.uleb();
      if (which >= kRegisters) return false;
      stack.push(registers[which] + static_cast<std::uint64_t>(walk.sleb()));
      break;
    }
    case 0x96: break; // nop
    default: return false;
    }
  }
  result = stack.pop();
  return !walk.bad() && !stack.bad();
}

} // namespace heaptape::recorder
