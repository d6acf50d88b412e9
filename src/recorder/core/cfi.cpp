#include "recorder/core/cfi.h"

#include <dlfcn.h>

#include <atomic>

#include "recorder/core/byte_walk.h"

namespace heaptape::recorder {

namespace {

// Call-frame instructions (DWARF 5, 7.24). The three with a number in their low six bits are known by the high two.
enum Instruction : std::uint8_t {
  kNop = 0x00,
  kSetLoc = 0x01,
  kAdvanceLoc1 = 0x02,
  kAdvanceLoc2 = 0x03,
  kAdvanceLoc4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kRegister = 0x09,
  kRememberState = 0x0a,
  kRestoreState = 0x0b,
  kDefCfa = 0x0c,
  kDefCfaRegister = 0x0d,
  kDefCfaOffset = 0x0e,
  kDefCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetExtendedSf = 0x11,
  kDefCfaSf = 0x12,
  kDefCfaOffsetSf = 0x13,
  kValOffset = 0x14,
  kValOffsetSf = 0x15,
  kValExpression = 0x16,
  kGnuArgsSize = 0x2e,
};
enum HighBits : std::uint8_t { kAdvanceLoc = 1, kOffset = 2, kRestore = 3 };

// The program and the dynamic linker are the only ones that are ever described in pieces; neither is unloaded.
constexpr std::size_t kMostWithGaps = 2;
constinit CodeObject g_with_gaps[kMostWithGaps];
constinit std::atomic<std::size_t> g_with_gaps_count{0};

// A CIE's fields that matter here.
struct Common {
  CfiContext context;
  const std::uint8_t* code = nullptr;
  const std::uint8_t* end = nullptr;
  bool signal_frame = false;
  bool augmented = false;
};

// The body of the entry at `entry`: what follows its length field, and where it ends. Null when it leaves the object.
struct Entry {
  const std::uint8_t* body = nullptr;
  const std::uint8_t* end = nullptr;
};

Entry read_entry(const CodeObject& object, const std::uint8_t* entry) noexcept {
  const auto* limit = reinterpret_cast<const std::uint8_t*>(object.end);
  if (reinterpret_cast<std::uint64_t>(entry) < object.start || entry >= limit) return {};
  ByteWalk walk(entry, limit);
  std::uint64_t length = walk.fixed<std::uint32_t>();
  if (length == 0xffff'ffff) length = walk.fixed<std::uint64_t>();
  if (walk.bad() || length == 0 || length > static_cast<std::uint64_t>(limit - walk.at())) return {};
  return {walk.at(), walk.at() + length};
}

bool read_common(const CodeObject& object, const std::uint8_t* entry, Common& common) noexcept {
  const Entry cie = read_entry(object, entry);
  if (cie.body == nullptr) return false;
  ByteWalk walk(cie.body, cie.end);
  if (walk.fixed<std::uint32_t>() != 0) return false; // not a CIE
  const auto version = walk.fixed<std::uint8_t>();
  const auto* augmentation = walk.at();
  while (walk.fixed<std::uint8_t>() != 0 && !walk.bad()) {}
  if (walk.bad()) return false;
  common.context.code_alignment = walk.uleb();
  common.context.data_alignment = walk.sleb();
  const std::uint64_t return_register = version == 1 ? walk.fixed<std::uint8_t>() : walk.uleb();
  if (*augmentation == 'z') {
    common.augmented = true;
    const std::uint64_t size = walk.uleb();
    const auto* code = walk.at() + size;
    if (size > static_cast<std::uint64_t>(cie.end - walk.at())) return false;
    for (const auto* letter = augmentation + 1; *letter != 0; ++letter) {
      if (*letter == 'R') {
        common.context.pointer_encoding = walk.fixed<std::uint8_t>();
      } else if (*letter == 'P') {
        const auto encoding = walk.fixed<std::uint8_t>();
        (void)walk.encoded(encoding & 0x7f, 0);
      } else if (*letter == 'L') {
        walk.skip(1);
      } else if (*letter == 'S') {
        common.signal_frame = true;
      } else if (*letter != 'B') {
        break;
      }
    }
    common.code = code;
  } else if (*augmentation == 0) {
    common.code = walk.at();
  } else {
    return false; // an old form we do not know
  }
  common.end = cie.end;
  return !walk.bad() && return_register == kReturn;
}

// Binary search in the table of .eh_frame_hdr, in its one usual form: sorted pairs of data-relative 32-bit numbers.
const std::uint8_t* find_fde(const CodeObject& object, std::uint64_t pc) noexcept {
  const std::uint8_t* header = object.eh_frame_hdr;
  const auto base = reinterpret_cast<std::uint64_t>(header);
  constexpr std::uint8_t kDataRelativeInt32 = 0x3b;
  if (header == nullptr || header[0] != 1 || header[3] != kDataRelativeInt32) return nullptr;
  ByteWalk walk(header + 4, reinterpret_cast<const std::uint8_t*>(object.end));
  (void)walk.encoded(header[1], base);
  const std::uint64_t count = walk.encoded(header[2], base);
  if (walk.bad() || count == 0 || count > (object.end - reinterpret_cast<std::uint64_t>(walk.at())) / 8) return nullptr;
  struct Row {
    std::int32_t function;
    std::int32_t entry;
  };
  const auto* rows = reinterpret_cast<const Row*>(walk.at());
  const auto relative = static_cast<std::int64_t>(pc - base);
  if (relative < rows[0].function) return nullptr;
  std::uint64_t low = 0;
  std::uint64_t high = count;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (rows[middle].function <= relative) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return header + rows[low].entry;
}

// Sets a register's rule; registers nobody depends on are passed over.
void set_rule(CfiRow& row, std::uint64_t dwarf_register, RegisterRule rule) noexcept {
  if (RegisterRule* slot = row.rule_of(dwarf_register); slot != nullptr) *slot = rule;
}

void restore_rule(CfiRow& row, const CfiRow& initial, std::uint64_t dwarf_register) noexcept {
  CfiRow copy = initial;
  if (const RegisterRule* rule = copy.rule_of(dwarf_register); rule != nullptr) set_rule(row, dwarf_register, *rule);
}

const std::uint8_t* take_expression(ByteWalk& walk) noexcept {
  const auto* expression = walk.at();
  walk.skip(walk.uleb());
  return expression;
}

} // namespace

RegisterRule* CfiRow::rule_of(std::uint64_t dwarf_register) noexcept {
  switch (dwarf_register) {
  case kRbx: return &rbx;
  case kRbp: return &rbp;
  case kRsp: return &rsp;
  case kR10: return &r10;
  case kR12: return &r12;
  case kR13: return &r13;
  case kR14: return &r14;
  case kR15: return &r15;
  case kReturn: return &return_address;
  default: return nullptr;
  }
}

bool run_instructions(const CfiContext& context, const std::uint8_t* code, const std::uint8_t* end,
                      std::uint64_t location, std::uint64_t pc, CfiRow& row, const CfiRow& initial) noexcept {
  constexpr std::size_t kRemembered = 3; // compilers nest DW_CFA_remember_state once
  CfiRow remembered[kRemembered];
  std::size_t depth = 0;
  ByteWalk walk(code, end);
  const auto scaled = [&](std::int64_t factor) { // may wrap around: the bytes can be anything
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(factor) *
                                     static_cast<std::uint64_t>(context.data_alignment));
  };

  while (!walk.done()) {
    const auto operation = walk.fixed<std::uint8_t>();
    const std::uint8_t low = operation & 0x3f;
    std::uint64_t advance = 0;
    switch (operation >> 6) {
    case kAdvanceLoc: advance = low * context.code_alignment; break;
    case kOffset: set_rule(row, low, {How::AtOffset, scaled(static_cast<std::int64_t>(walk.uleb()))}); break;
    case kRestore: restore_rule(row, initial, low); break;
    default:
      switch (operation) {
      case kNop: break;
      case kSetLoc: {
        const std::uint64_t next = walk.encoded(context.pointer_encoding, 0);
        if (next < location) return false;
        advance = next - location;
        break;
      }
      case kAdvanceLoc1: advance = walk.fixed<std::uint8_t>() * context.code_alignment; break;
      case kAdvanceLoc2: advance = walk.fixed<std::uint16_t>() * context.code_alignment; break;
      case kAdvanceLoc4: advance = walk.fixed<std::uint32_t>() * context.code_alignment; break;
      case kOffsetExtended: {
        const std::uint64_t which = walk.uleb();
        set_rule(row, which, {How::AtOffset, scaled(static_cast<std::int64_t>(walk.uleb()))});
        break;
      }
      case kRestoreExtended: restore_rule(row, initial, walk.uleb()); break;
      case kUndefined: set_rule(row, walk.uleb(), {How::Undefined, std::int64_t{0}}); break;
      case kSameValue: set_rule(row, walk.uleb(), {How::Same, std::int64_t{0}}); break;
      case kRegister: {
        const std::uint64_t which = walk.uleb();
        set_rule(row, which, {How::Register, static_cast<std::int64_t>(walk.uleb())});
        break;
      }
      case kRememberState:
        if (depth == kRemembered) return false;
        remembered[depth++] = row;
        break;
      case kRestoreState:
        if (depth == 0) return false;
        row = remembered[--depth];
        break;
      case kDefCfa:
        row.cfa_register = static_cast<std::uint8_t>(walk.uleb());
        row.cfa_offset = static_cast<std::int64_t>(walk.uleb());
        row.cfa_expression = nullptr;
        break;
      case kDefCfaRegister:
        row.cfa_register = static_cast<std::uint8_t>(walk.uleb());
        row.cfa_expression = nullptr;
        break;
      case kDefCfaOffset: row.cfa_offset = static_cast<std::int64_t>(walk.uleb()); break;
      case kDefCfaExpression: row.cfa_expression = take_expression(walk); break;
      case kExpression: {
        const std::uint64_t which = walk.uleb();
        set_rule(row, which, {How::AtExpression, take_expression(walk)});
        break;
      }
      case kOffsetExtendedSf: {
        const std::uint64_t which = walk.uleb();
        set_rule(row, which, {How::AtOffset, scaled(walk.sleb())});
        break;
      }
      case kDefCfaSf:
        row.cfa_register = static_cast<std::uint8_t>(walk.uleb());
        row.cfa_offset = scaled(walk.sleb());
        row.cfa_expression = nullptr;
        break;
      case kDefCfaOffsetSf: row.cfa_offset = scaled(walk.sleb()); break;
      case kValOffset: {
        const std::uint64_t which = walk.uleb();
        set_rule(row, which, {How::Offset, scaled(static_cast<std::int64_t>(walk.uleb()))});
        break;
      }
      case kValOffsetSf: {
        const std::uint64_t which = walk.uleb();
        set_rule(row, which, {How::Offset, scaled(walk.sleb())});
        break;
      }
      case kValExpression: {
        const std::uint64_t which = walk.uleb();
        set_rule(row, which, {How::Expression, take_expression(walk)});
        break;
      }
      case kGnuArgsSize: (void)walk.uleb(); break;
      default: return false;
      }
    }
    if (walk.bad()) return false;
    if (advance > pc - location) return true; // the row we have covers pc
    location += advance;
  }
  return !walk.bad();
}

void note_object_with_gaps(const CodeObject& object) noexcept {
  const std::size_t count = g_with_gaps_count.load(std::memory_order_relaxed);
  if (count == kMostWithGaps) return;
  g_with_gaps[count] = object;
  g_with_gaps_count.store(count + 1, std::memory_order_release); // pairs with find_object()
}

CodeObject find_object(std::uint64_t pc) noexcept {
  dl_find_object found;
  if (_dl_find_object(reinterpret_cast<void*>(pc), &found) != 0) return {};
  for (std::size_t i = 0, count = g_with_gaps_count.load(std::memory_order_acquire); i < count; ++i) {
    if (g_with_gaps[i].link_map == found.dlfo_link_map) return g_with_gaps[i];
  }
  return {reinterpret_cast<std::uint64_t>(found.dlfo_map_start), reinterpret_cast<std::uint64_t>(found.dlfo_map_end),
          found.dlfo_link_map, static_cast<const std::uint8_t*>(found.dlfo_eh_frame)};
}

CfiResult find_row(const CodeObject& object, std::uint64_t pc, CfiRow& row, bool& signal_frame) noexcept {
  const std::uint8_t* fde = find_fde(object, pc);
  if (fde == nullptr) return CfiResult::NoInformation;
  const Entry entry = read_entry(object, fde);
  if (entry.body == nullptr) return CfiResult::Unsupported;
  ByteWalk walk(entry.body, entry.end);
  const auto to_common = walk.fixed<std::int32_t>();
  Common common;
  if (walk.bad() || !read_common(object, entry.body - to_common, common)) return CfiResult::Unsupported;
  const std::uint64_t start = walk.encoded(common.context.pointer_encoding, 0);
  const std::uint64_t size = walk.encoded(common.context.pointer_encoding & 0x0f, 0);
  if (common.augmented) walk.skip(walk.uleb());
  if (walk.bad()) return CfiResult::Unsupported;
  if (pc < start || pc - start >= size) return CfiResult::NoInformation;

  row = {};
  const CfiRow nothing{};
  if (!run_instructions(common.context, common.code, common.end, 0, ~std::uint64_t{0}, row, nothing)) {
    return CfiResult::Unsupported;
  }
  const CfiRow initial = row;
  if (!run_instructions(common.context, walk.at(), entry.end, start, pc, row, initial)) return CfiResult::Unsupported;
  signal_frame = common.signal_frame;
  return CfiResult::Found;
}

} // namespace heaptape::recorder
