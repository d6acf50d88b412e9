// Reads .eh_frame: for a code address, how to find the caller's frame. No allocation, no locks, little stack.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heaptape::recorder {

// The registers a caller's frame can depend on, by DWARF number: what a function must preserve, plus R10, through which
// functions that realign their stack reach the old one.
inline constexpr std::uint8_t kRbx = 3, kRbp = 6, kRsp = 7, kR10 = 10, kR12 = 12, kR13 = 13, kR14 = 14, kR15 = 15,
                              kReturn = 16;
inline constexpr std::size_t kRegisters = 17;

enum class How : std::uint8_t { Same, AtOffset, Offset, AtExpression, Expression, Register, Undefined };

// How one register of the caller is found. Eight bytes, because rows are kept on the program's stack, which may be small.
class RegisterRule {
public:
  constexpr RegisterRule() noexcept = default;
  constexpr RegisterRule(How how, std::int64_t value) noexcept
      : bits_(static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << 8 | static_cast<std::uint8_t>(how))) {}
  RegisterRule(How how, const std::uint8_t* expression) noexcept
      : RegisterRule(how, reinterpret_cast<std::int64_t>(expression)) {}

  How how() const noexcept { return static_cast<How>(bits_ & 0xff); }
  // AtOffset, Offset: from the CFA; Register: which one.
  std::int64_t value() const noexcept { return bits_ >> 8; }
  // AtExpression, Expression: its length as ULEB128, then the operations.
  const std::uint8_t* expression() const noexcept { return reinterpret_cast<const std::uint8_t*>(value()); }

private:
  std::int64_t bits_ = 0;
};
static_assert(sizeof(RegisterRule) == 8);

// The unwind table's row for one address.
struct CfiRow {
  std::uint8_t cfa_register = 0;
  std::int64_t cfa_offset = 0;
  const std::uint8_t* cfa_expression = nullptr; // instead of register and offset
  RegisterRule rbx, rbp, rsp, r10, r12, r13, r14, r15, return_address;

  RegisterRule* rule_of(std::uint64_t dwarf_register) noexcept;
};

enum class CfiResult : std::uint8_t { Found, NoInformation, Unsupported };

struct CodeObject {
  std::uint64_t start = 0; // first and one-past-last address of the mapped object; 0: no object there
  std::uint64_t end = 0;
  const void* link_map = nullptr;
  const std::uint8_t* eh_frame_hdr = nullptr;
};

// The dynamic linker describes a program with gaps between its segments (one linked for pages of 2 MB, say) segment by segment. Takes
// note of all that belongs to such an object, so that find_object() gives the whole of it wherever `pc` is: ELF header, code and unwind
// tables. For start-up, when there is one thread.
void note_object_with_gaps(const CodeObject& object) noexcept;

// The loaded object that holds `pc`; lock-free. `start` is 0 when there is none (generated code, nonsense).
[[nodiscard]] CodeObject find_object(std::uint64_t pc) noexcept;

// The row for `pc`, an address inside the instruction in question (for a return address: minus one).
[[nodiscard]] CfiResult find_row(const CodeObject& object, std::uint64_t pc, CfiRow& row, bool& signal_frame) noexcept;

// Runs call-frame instructions found at [code, end) until `location` would pass `pc`. For find_row and its fuzz target.
struct CfiContext {
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = -8;
  std::uint8_t pointer_encoding = 0;
};
[[nodiscard]] bool run_instructions(const CfiContext& context, const std::uint8_t* code, const std::uint8_t* end,
                                    std::uint64_t location, std::uint64_t pc, CfiRow& row,
                                    const CfiRow& initial) noexcept;

} // namespace heaptape::recorder
