#include "report/crash/operand.h"

#include <initializer_list>

namespace heaptape {

namespace {

using enum wire::AskerRegister;
using wire::AskerRegister;

// By the number that instructions have for them.
constexpr std::array kNumbered{Rax, Rcx, Rdx, Rbx, Rsp, Rbp, Rsi, Rdi, R8, R9, R10, R11, R12, R13, R14, R15};

enum class Map : std::uint8_t { One, Two, Three38, Three3a };

bool is_one_of(std::uint8_t opcode, std::initializer_list<std::uint8_t> list) {
  for (const std::uint8_t each : list)
    if (each == opcode) return true;
  return false;
}

class Decoder {
public:
  explicit Decoder(std::span<const std::uint8_t> code) : code_(code) {}

  std::optional<Instruction> decode() {
    read_prefixes();
    if (!read_opcode()) return std::nullopt;
    const bool known = map_ == Map::One ? decode_one() : decode_mapped();
    if (!known || cut_ || at_ > kLongest) return std::nullopt;
    found_.length = static_cast<std::uint8_t>(at_);
    return found_;
  }

private:
  static constexpr std::size_t kLongest = 15;

  std::uint8_t byte() {
    if (at_ >= code_.size()) {
      cut_ = true;
      return 0;
    }
    return code_[at_++];
  }
  std::uint8_t peek() const { return at_ < code_.size() ? code_[at_] : std::uint8_t{0}; }
  void skip(std::size_t bytes) {
    at_ += bytes;
    if (at_ > code_.size()) cut_ = true;
  }

  void read_prefixes() {
    for (; at_ < kLongest; ++at_) {
      switch (peek()) {
      case 0x66: small_ = true; continue;
      case 0x67: short_address_ = true; continue;
      case 0xf2:
      case 0xf3: repeat_ = peek(); continue;
      case 0x64:
      case 0x65: segment_ = true; continue;
      case 0x2e:
      case 0x36:
      case 0x3e:
      case 0x26:
      case 0xf0: continue;
      default: break;
      }
      break;
    }
    if ((peek() & 0xf0) == 0x40) rex_ = byte();
  }

  bool set_map(unsigned number) {
    switch (number) {
    case 1: map_ = Map::Two; return true;
    case 2: map_ = Map::Three38; return true;
    case 3: map_ = Map::Three3a; return true;
    default: return false;
    }
  }
  void set_simd_prefix(unsigned pp) {
    small_ = pp == 1;
    repeat_ = pp == 2 ? 0xf3 : pp == 3 ? 0xf2 : 0;
  }

  // The inverted bits R, X, B at the top of a byte, as REX has them.
  static std::uint8_t rex_bits(std::uint8_t inverted) { return static_cast<std::uint8_t>(~inverted >> 5 & 7); }

  bool read_opcode() {
    opcode_ = byte();
    if (cut_) return false;
    if (opcode_ == 0x0f) {
      map_ = Map::Two;
      opcode_ = byte();
      if (opcode_ == 0x38 || opcode_ == 0x3a) {
        map_ = opcode_ == 0x38 ? Map::Three38 : Map::Three3a;
        opcode_ = byte();
      }
      return !cut_;
    }
    if (opcode_ == 0xc5 && rex_ == 0) {
      const std::uint8_t fields = byte();
      vector_ = true;
      map_ = Map::Two;
      rex_ = static_cast<std::uint8_t>(rex_bits(fields) & 4);
      wide_ = (fields & 4) != 0;
      set_simd_prefix(fields & 3);
      opcode_ = byte();
    } else if (opcode_ == 0xc4 && rex_ == 0) {
      const std::uint8_t first = byte(), second = byte();
      vector_ = true;
      rex_ = rex_bits(first);
      if ((second & 0x80) != 0) rex_ |= 8;
      wide_ = (second & 4) != 0;
      set_simd_prefix(second & 3);
      if (!set_map(first & 0x1f)) return false;
      opcode_ = byte();
    } else if (opcode_ == 0x62 && rex_ == 0) {
      const std::uint8_t first = byte(), second = byte(), third = byte();
      vector_ = evex_ = true;
      rex_ = rex_bits(first);
      if ((second & 0x80) != 0) rex_ |= 8;
      vector_length_ = third >> 5 & 3;
      broadcast_ = (third & 0x10) != 0;
      set_simd_prefix(second & 3);
      if (!set_map(first & 7)) return false;
      opcode_ = byte();
    }
    return !cut_;
  }

  bool rex(unsigned bit) const { return (rex_ >> bit & 1) != 0; } // 3: W, 2: R, 1: X, 0: B
  std::uint8_t word_bytes() const { return rex(3) ? 8 : small_ ? 2 : 4; }
  std::size_t immediate_bytes() const { return small_ && !rex(3) ? 2 : 4; }

  // Reads ModRM and all that belongs to it.
  void read_operand(std::uint8_t bytes) {
    const std::uint8_t modrm = byte();
    mod_ = modrm >> 6;
    reg_ = modrm >> 3 & 7;
    const unsigned rm = modrm & 7;
    rm_ = kNumbered[rm + (rex(0) ? 8 : 0)];
    if (mod_ == 3) return;
    MemoryOperand operand{.short_address = short_address_, .segment = segment_};
    bool has_base = true;
    if (rm == 4) {
      const std::uint8_t sib = byte();
      const unsigned index = (sib >> 3 & 7) + (rex(1) ? 8 : 0), base = sib & 7;
      if (index != 4) operand.index = kNumbered[index];
      operand.scale = 1U << (sib >> 6);
      if (base == 5 && mod_ == 0) {
        has_base = false;
        operand.displacement = displacement32();
      } else {
        operand.base = kNumbered[base + (rex(0) ? 8 : 0)];
      }
    } else if (rm == 5 && mod_ == 0) {
      has_base = false;
      operand.relative_to_rip = true;
      operand.displacement = displacement32();
    } else {
      operand.base = rm_;
    }
    if (has_base && mod_ == 1) {
      operand.displacement = static_cast<std::int8_t>(byte());
      if (evex_ && bytes == 0) return; // it counts in units of what is accessed
      if (evex_) operand.displacement *= bytes;
    }
    if (has_base && mod_ == 2) operand.displacement = displacement32();
    if (operand.index && vector_ && is_gather()) return; // the index is a vector
    found_.operands[0] = operand;
    found_.bytes = bytes;
  }

  std::int64_t displacement32() {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < 4; ++i) value |= std::uint32_t{byte()} << 8 * i;
    return static_cast<std::int32_t>(value);
  }

  bool is_gather() const { return map_ == Map::Three38 && opcode_ >= 0x90 && opcode_ <= 0x93; }

  static MemoryOperand at(AskerRegister base, std::int64_t displacement = 0) {
    return {.base = base, .displacement = displacement};
  }

  bool string_instruction() {
    const std::uint8_t bytes = (opcode_ & 1) == 0 ? std::uint8_t{1} : word_bytes();
    const MemoryOperand to = at(Rdi);
    MemoryOperand from = at(Rsi);
    from.segment = segment_;
    switch (opcode_ & 0xfe) {
    case 0xa4:
    case 0xa6: found_.operands = {to, from}; break;
    case 0xaa:
    case 0xae: found_.operands[0] = to; break;
    default: found_.operands[0] = from; break;
    }
    found_.bytes = bytes;
    found_.repeats = true;
    return true;
  }

  void push_or_pop(std::int64_t displacement) {
    found_.operands[0] = at(Rsp, displacement);
    found_.bytes = 8;
  }

  bool decode_group_ff() {
    read_operand(8);
    const bool through_register = mod_ == 3;
    switch (reg_) {
    case 0:
    case 1: found_.bytes = opcode_ == 0xfe ? 1 : word_bytes(); return true;
    case 2:
    case 4:
      if (opcode_ == 0xfe) return false;
      found_.operation = reg_ == 2 ? Operation::Call : Operation::Jump;
      if (through_register) found_.target = rm_;
      if (reg_ == 2) found_.operands[1] = at(Rsp, -8);
      return true;
    case 6: found_.operands[1] = at(Rsp, -8); return opcode_ == 0xff;
    default: return false;
    }
  }

  bool decode_one() {
    const std::uint8_t op = opcode_;
    if (vector_) return false;
    if (op < 0x40) {
      const unsigned form = op & 7;
      if (form >= 6) return false; // not of 64-bit mode, or prefixes
      if (form < 4)
        read_operand((form & 1) == 0 ? 1 : word_bytes());
      else
        skip(form == 4 ? 1 : immediate_bytes());
      return true;
    }
    if (op >= 0x50 && op <= 0x5f) {
      push_or_pop(op < 0x58 ? -8 : 0);
      return true;
    }
    if (op >= 0x70 && op <= 0x7f) {
      skip(1);
      return true;
    }
    if (op >= 0x84 && op <= 0x8b) {
      read_operand((op & 1) == 0 ? 1 : word_bytes());
      return true;
    }
    if ((op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf)) return string_instruction();
    if (op >= 0xa0 && op <= 0xa3) {
      skip(short_address_ ? 4 : 8); // the address itself
      return true;
    }
    if (op >= 0xb0 && op <= 0xbf) {
      skip(op < 0xb8 ? 1 : rex(3) ? 8 : immediate_bytes());
      return true;
    }
    if (op >= 0xd0 && op <= 0xd3) {
      read_operand((op & 1) == 0 ? 1 : word_bytes());
      return true;
    }
    if (op >= 0xd8 && op <= 0xdf) { // x87
      read_operand(0);
      return true;
    }
    if (op >= 0x90 && op <= 0x99) return true;
    switch (op) {
    case 0x63: read_operand(4); return true;
    case 0x68:
    case 0x6a:
      skip(op == 0x6a ? 1 : immediate_bytes());
      push_or_pop(-8);
      return true;
    case 0x69:
      read_operand(word_bytes());
      skip(immediate_bytes());
      return true;
    case 0x6b:
      read_operand(word_bytes());
      skip(1);
      return true;
    case 0x80:
    case 0x83:
      read_operand(op == 0x80 ? 1 : word_bytes());
      skip(1);
      return true;
    case 0x81:
      read_operand(word_bytes());
      skip(immediate_bytes());
      return true;
    case 0x8d: // lea: reads nothing
      read_operand(0);
      found_.operands[0].reset();
      return mod_ != 3;
    case 0x8f: read_operand(8); return reg_ == 0;
    case 0xa8: skip(1); return true;
    case 0xa9: skip(immediate_bytes()); return true;
    case 0xc0:
    case 0xc1:
      read_operand(op == 0xc0 ? 1 : word_bytes());
      skip(1);
      return true;
    case 0xc2:
    case 0xc3:
      skip(op == 0xc2 ? 2 : 0);
      push_or_pop(0);
      found_.operation = Operation::Return;
      return true;
    case 0xc6:
    case 0xc7:
      read_operand(op == 0xc6 ? 1 : word_bytes());
      skip(op == 0xc6 ? 1 : immediate_bytes());
      return reg_ == 0;
    case 0xc9:
      found_.operands[0] = at(Rbp);
      found_.bytes = 8;
      return true;
    case 0xcc:
    case 0xf1: found_.operation = Operation::Trap; return true;
    case 0xe8:
      skip(4);
      push_or_pop(-8);
      found_.operation = Operation::Call;
      return true;
    case 0xe9:
    case 0xeb:
      skip(op == 0xe9 ? 4 : 1);
      found_.operation = Operation::Jump;
      return true;
    case 0xf4: return true; // hlt, with which libc's abort() ends when all else fails
    case 0xf6:
    case 0xf7:
      read_operand(op == 0xf6 ? 1 : word_bytes());
      if (reg_ <= 1) skip(op == 0xf6 ? 1 : immediate_bytes());
      if (reg_ >= 6) {
        found_.operation = Operation::Divide;
        if (mod_ == 3) found_.target = rm_;
      }
      return true;
    case 0xfe:
    case 0xff: return decode_group_ff();
    default: return false;
    }
  }

  std::uint8_t vector_bytes() const {
    if (evex_) return broadcast_ ? std::uint8_t{0} : static_cast<std::uint8_t>(16U << vector_length_);
    return wide_ ? 32 : 16;
  }
  // Of the moves, whose prefix says it.
  std::uint8_t scalar_bytes() const { return repeat_ == 0xf3 ? 4 : repeat_ == 0xf2 ? 8 : vector_bytes(); }

  bool decode_mapped() {
    const std::uint8_t op = opcode_;
    if (map_ == Map::Three38) {
      read_operand(!vector_ && (op == 0xf0 || op == 0xf1) ? word_bytes() : 0);
      return true;
    }
    if (map_ == Map::Three3a) {
      read_operand(0);
      skip(1);
      return true;
    }
    if (op == 0x0b && !vector_) {
      found_.operation = Operation::Illegal;
      return true;
    }
    if (!vector_ && ((op >= 0x80 && op <= 0x8f))) {
      skip(4);
      return true;
    }
    if (!vector_ && (is_one_of(op, {0x05, 0x06, 0x08, 0x09, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0xa2}) ||
                     (op >= 0xc8 && op <= 0xcf)))
      return true;
    if (!vector_ && is_one_of(op, {0xa0, 0xa1, 0xa8, 0xa9})) {
      push_or_pop((op & 1) == 0 ? -8 : 0);
      return true;
    }
    if (op == 0x77) return true; // emms, vzeroupper
    read_operand(mapped_bytes(op));
    if ((op == 0x18 || op == 0x0d || (op >= 0x19 && op <= 0x1f)) && !vector_) found_.operands[0].reset(); // hints
    if (is_one_of(op, {0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6, 0xba, 0xa4, 0xac})) skip(1);
    return true;
  }

  std::uint8_t mapped_bytes(std::uint8_t op) const {
    if (op == 0x10 || op == 0x11 || op == 0x51 || (op >= 0x58 && op <= 0x5f && op != 0x5b)) return scalar_bytes();
    if (is_one_of(op, {0x28, 0x29, 0x2b, 0x6f, 0x7f, 0xe7})) {
      const bool mmx = !vector_ && !small_ && repeat_ == 0 && op >= 0x6f;
      return mmx ? 8 : vector_bytes();
    }
    if (is_one_of(op, {0x12, 0x13, 0x16, 0x17, 0xd6})) return 8;
    if (op == 0x6e || op == 0x7e) return repeat_ == 0xf3 || rex(3) ? 8 : 4;
    if (op == 0x2a && repeat_ != 0) return rex(3) ? 8 : 4;
    if (is_one_of(op, {0x2c, 0x2d}) && repeat_ != 0) return repeat_ == 0xf3 ? 4 : 8;
    if (is_one_of(op, {0x2e, 0x2f})) return small_ ? 8 : 4;
    if (vector_) return 0;
    if (op >= 0x40 && op <= 0x4f) return word_bytes(); // cmov
    if (op >= 0x90 && op <= 0x9f) return 1;            // set
    if (is_one_of(op, {0xb6, 0xbe, 0xb0, 0xc0})) return 1;
    if (is_one_of(op, {0xb7, 0xbf})) return 2;
    if (is_one_of(op, {0xa3, 0xa4, 0xa5, 0xab, 0xac, 0xad, 0xaf, 0xb1, 0xb3, 0xb8, 0xba, 0xbb, 0xbc, 0xbd, 0xc1, 0xc3}))
      return word_bytes();
    if (op >= 0x54 && op <= 0x57) return 16;
    return 0;
  }

  std::span<const std::uint8_t> code_;
  std::size_t at_ = 0;
  bool cut_ = false;
  bool small_ = false, short_address_ = false, segment_ = false;
  std::uint8_t repeat_ = 0, rex_ = 0;
  bool vector_ = false, evex_ = false, wide_ = false, broadcast_ = false;
  unsigned vector_length_ = 0;
  Map map_ = Map::One;
  std::uint8_t opcode_ = 0;
  unsigned mod_ = 3, reg_ = 0;
  AskerRegister rm_ = Rax;
  Instruction found_;
};

} // namespace

std::optional<Instruction> decode_instruction(std::span<const std::uint8_t> code) { return Decoder(code).decode(); }

std::optional<std::uint64_t> address_of(const MemoryOperand& operand,
                                        std::span<const std::uint64_t, wire::kAskerRegisters> registers,
                                        std::uint64_t next) {
  if (operand.segment) return std::nullopt;
  const auto value = [&](wire::AskerRegister which) { return registers[static_cast<std::size_t>(which)]; };
  auto address = static_cast<std::uint64_t>(operand.displacement);
  if (operand.relative_to_rip) address += next;
  if (operand.base) address += value(*operand.base);
  if (operand.index) address += value(*operand.index) * operand.scale;
  return operand.short_address ? address & 0xffff'ffff : address;
}

const char* register_name(wire::AskerRegister which) {
  static constexpr std::array<const char*, wire::kAskerRegisters> kNames{"r8",  "r9",  "r10", "r11", "r12", "r13",
                                                                         "r14", "r15", "rdi", "rsi", "rbp", "rbx",
                                                                         "rdx", "rax", "rcx", "rsp", "rip", "eflags"};
  return kNames[static_cast<std::size_t>(which)];
}

} // namespace heaptape
