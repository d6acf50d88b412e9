// What an instruction of x86-64 wants of memory, from its bytes: enough of the encoding to find the operand, not to name the instruction.
//
//   prefixes   66 f2 f3 2e 36 3e 26 64 65 67 f0, in any order; then REX (40..4f), or VEX (c5, c4) or EVEX (62)
//   opcode     one byte; 0f and one; 0f 38 or 0f 3a and one; of VEX and EVEX the map is a field of the prefix
//   ModRM      mod, reg, r/m; r/m 4 with mod < 3 adds a SIB byte; mod 1 adds a displacement of 8 bits, mod 2 and a few others of 32
//   immediate  counts for the length alone, from where addresses relative to RIP are counted
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/contents_question.h"

namespace heaptape {

struct MemoryOperand {
  std::optional<wire::AskerRegister> base{}, index{};
  unsigned scale = 1;
  std::int64_t displacement = 0;
  bool relative_to_rip = false; // to the next instruction
  bool short_address = false;   // of 32 bits
  bool segment = false;         // counts from FS or GS, whose base is not known
  friend bool operator==(const MemoryOperand&, const MemoryOperand&) = default;
};

enum class Operation : std::uint8_t {
  Other,
  Divide,
  Call, // through a register or memory, or of a fixed place
  Jump,
  Return,
  Trap,    // int3, int1
  Illegal, // ud2: compilers put it where a program is never to get
};

struct Instruction {
  std::uint8_t length = 0;
  Operation operation = Operation::Other;
  std::uint8_t bytes = 0;                                 // of the access; 0: not known
  std::array<std::optional<MemoryOperand>, 2> operands{}; // what is written comes first where both are in memory
  std::optional<wire::AskerRegister>
      target{};         // Call and Jump through a register; of Divide the divisor, if it is in one
  bool repeats = false; // a string instruction
};

// Nothing when the bytes are no instruction that is known here, or are cut off.
std::optional<Instruction> decode_instruction(std::span<const std::uint8_t> code);

// Where an operand lies. `next` is the address of the next instruction. Nothing with a segment.
std::optional<std::uint64_t> address_of(const MemoryOperand& operand,
                                        std::span<const std::uint64_t, wire::kAskerRegisters> registers,
                                        std::uint64_t next);

// "rax", ...
const char* register_name(wire::AskerRegister which);

} // namespace heaptape
