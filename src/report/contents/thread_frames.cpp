#include "report/contents/thread_frames.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "symbols/unwind_expression.h"

namespace heaptape {

namespace {

constexpr std::size_t kMostFrames = std::size_t{1} << 18;
constexpr int kMostStacks = 64; // that one thread can be on, one after another
constexpr std::uint64_t kWord = 8;
using Registers = std::array<std::uint64_t, kUnwindRegisters>;

// By DWARF number.
constexpr std::array kByNumber{ThreadState::Rax, ThreadState::Rdx, ThreadState::Rcx, ThreadState::Rbx, ThreadState::Rsi,
                               ThreadState::Rdi, ThreadState::Rbp, ThreadState::Rsp, ThreadState::R8,  ThreadState::R9,
                               ThreadState::R10, ThreadState::R11, ThreadState::R12, ThreadState::R13, ThreadState::R14,
                               ThreadState::R15, ThreadState::Rip};
static_assert(kByNumber.size() == kUnwindRegisters);

// mov $15, %rax; syscall: how programs on x86-64 return from the handler of a signal, and nothing else.
constexpr std::array<std::uint8_t, 9> kSignalReturn{0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
// Where the kernel keeps the registers, from the stack pointer of that code: in the order of struct sigcontext.
constexpr std::uint64_t kSavedRegisters = 40;
constexpr std::array<std::size_t, kUnwindRegisters> kSavedOrder{8, 9, 10, 11, 12, 13, 14, 15, 5,
                                                                4, 6, 3,  1,  0,  2,  7,  16};
// All that the kernel keeps there at least.
constexpr std::uint64_t kSignalFrameBytes = 432;

// One thread, on its way outward.
class Walk {
public:
  Walk(const ThreadState& thread, SnapshotMemory& memory, ModuleTables& tables)
      : memory_(memory), cursor_(memory.cursor()), tables_(tables) {
    for (std::size_t i = 0; i < kUnwindRegisters; ++i) registers_[i] = thread[kByNumber[i]];
  }

  ThreadFrames run(std::size_t most = kMostFrames) {
    while (answer_.frames.size() < most) {
      StackFrame& frame = answer_.frames.emplace_back();
      frame.pc = registers_[kUnwindReturn];
      frame.begin = frame.end = registers_[kUnwindRsp];
      frame.exact = exact_;
      frame.module = tables_.module_at(frame.code_address());
      if (!step(frame)) return std::move(answer_);
      // A caller at 0 is none; but a call of a null pointer may have been interrupted there.
      if (registers_[kUnwindReturn] == 0 && !exact_) return std::move(answer_);
    }
    answer_.end = FramesEnd::TooDeep;
    return std::move(answer_);
  }
  const Registers& registers() const { return registers_; }

private:
  bool ends() { return false; }
  bool cut(std::string why) {
    answer_.end = FramesEnd::Cut;
    answer_.why = std::move(why);
    return false;
  }

  const MappedRange* executable_at(std::uint64_t address) const {
    const MappedRange* const region = memory_.region_at(address);
    return region != nullptr && (region->permissions & kMapExecute) != 0 ? region : nullptr;
  }

  // To the caller; false: there is none, or none that can be found.
  bool step(StackFrame& frame) {
    exact_ = false;
    if (frame.module == nullptr && !frame.exact) frame.module = tables_.module_at(frame.pc);
    if (frame.module != nullptr) {
      if (const UnwindRow* row = row_at(*frame.module, frame.code_address())) return by_row(frame, *row);
      // Nobody calls the code that returns from a handler, nor the start of a coroutine: they are "returned to" at their first byte, and
      // the byte before belongs to nobody. The former leads on to what was interrupted, the latter nowhere.
      if (!frame.exact) {
        if (const UnwindRow* row = row_at(*frame.module, frame.pc)) {
          frame.exact = true;
          return row->signal_frame ? by_row(frame, *row) : ends();
        }
      }
    }
    if (returns_from_signal(frame.pc)) return by_saved_registers(frame);
    if (executable_at(frame.code_address()) == nullptr) {
      // A call of what is no code leaves only its return address.
      if (frame.exact) return by_return_address(frame, 0, "no code");
      return cut(fmt::format("{:#x} is not an address of code", frame.pc));
    }
    return by_code(frame);
  }

  // A stack has the same rows over and over. Null: the table says nothing.
  const UnwindRow* row_at(const Module& module, std::uint64_t address) {
    const auto [found, is_new] = rows_.try_emplace(address);
    if (is_new) found->second = tables_.unwind_table(module).find(address - module.load_bias);
    return found->second ? &*found->second : nullptr;
  }

  std::optional<std::uint64_t> evaluate(ByteSpan expression, std::optional<std::uint64_t> first) {
    return evaluate_expression(expression, registers_, first,
                               [this](std::uint64_t address) { return cursor_.word(address); });
  }

  bool by_row(StackFrame& frame, const UnwindRow& row) {
    std::optional<std::uint64_t> cfa;
    if (!row.cfa_expression.empty())
      cfa = evaluate(row.cfa_expression, std::nullopt);
    else if (row.cfa_register < kUnwindRegisters)
      cfa = registers_[row.cfa_register] + static_cast<std::uint64_t>(row.cfa_offset);
    const bool outermost = row.registers[kUnwindReturn].from == RegisterFrom::Nowhere;
    if (!cfa) return outermost ? ends() : cut("the unwind table does not say where the frame ends");
    frame.frame_base = *cfa;
    if (!row.signal_frame) frame.end = std::max(*cfa, frame.begin);
    if (outermost) return ends();
    Registers next = registers_;
    next[kUnwindRsp] = *cfa;
    for (std::size_t i = 0; i < kUnwindRegisters; ++i) {
      const RegisterRule& rule = row.registers[i];
      std::optional<std::uint64_t> value;
      switch (rule.from) {
      case RegisterFrom::Same:
      case RegisterFrom::Nowhere: continue;
      case RegisterFrom::Saved: value = cursor_.word(*cfa + static_cast<std::uint64_t>(rule.value)); break;
      case RegisterFrom::Value: value = *cfa + static_cast<std::uint64_t>(rule.value); break;
      case RegisterFrom::SavedAt:
        if (const auto where = evaluate(rule.expression, cfa)) value = cursor_.word(*where);
        break;
      case RegisterFrom::Computed: value = evaluate(rule.expression, cfa); break;
      case RegisterFrom::OtherRegister:
        if (const auto other = static_cast<std::uint64_t>(rule.value); other < kUnwindRegisters)
          value = registers_[other];
        break;
      }
      if (value)
        next[i] = *value;
      else if (i == kUnwindReturn || i == kUnwindRsp)
        return cut("the stack goes on in memory that the tape does not have");
    }
    if (row.signal_frame) return through_signal(frame, next);
    return to_caller(frame, next);
  }

  bool through_signal(StackFrame& frame, const Registers& next) {
    frame.signal_handler = true;
    exact_ = true;
    // From one stack to another only what the kernel keeps is this frame's.
    const std::uint64_t interrupted = next[kUnwindRsp];
    const bool same = interrupted > frame.begin && memory_.region_at(interrupted) == memory_.region_at(frame.begin);
    frame.end = same ? interrupted : frame.begin + kSignalFrameBytes;
    if (!same && ++stacks_ > kMostStacks) return cut("the stack goes in circles");
    registers_ = next;
    return true;
  }

  bool to_caller(StackFrame& frame, const Registers& next) {
    const std::uint64_t sp = next[kUnwindRsp];
    if (sp <= frame.begin || memory_.region_at(sp - 1) != memory_.region_at(frame.begin)) {
      if (memory_.region_at(sp) == memory_.region_at(frame.begin) || ++stacks_ > kMostStacks)
        return cut("the stack goes in circles");
      frame.end = frame.begin; // on another stack
    }
    registers_ = next;
    return true;
  }

  bool returns_from_signal(std::uint64_t pc) {
    std::array<std::uint8_t, kSignalReturn.size()> code{};
    return cursor_.read(pc, std::as_writable_bytes(std::span(code))) == code.size() && code == kSignalReturn;
  }
  bool by_saved_registers(StackFrame& frame) {
    frame.exact = true;
    Registers next{};
    for (std::size_t i = 0; i < kSavedOrder.size(); ++i) {
      const auto word = cursor_.word(frame.begin + kSavedRegisters + i * kWord);
      if (!word) return cut("the stack goes on in memory that the tape does not have");
      next[kSavedOrder[i]] = *word;
    }
    return through_signal(frame, next);
  }

  bool by_return_address(StackFrame& frame, std::uint64_t offset, const char* what) {
    const auto word = cursor_.word(frame.begin + offset);
    if (!word || (*word != 0 && !follows_call(*word)))
      return cut(fmt::format("{} at {:#x}, and no unwind table", what, frame.pc));
    Registers next = registers_;
    if (offset != 0) next[kUnwindRbp] = cursor_.word(frame.begin).value_or(0);
    return to_guess(frame, next, frame.begin + offset + kWord, *word);
  }

  bool to_guess(StackFrame& frame, Registers& next, std::uint64_t cfa, std::uint64_t return_address) {
    frame.guessed = true;
    frame.frame_base = frame.end = cfa;
    next[kUnwindRsp] = cfa;
    next[kUnwindReturn] = return_address;
    return to_caller(frame, next);
  }

  bool by_code(StackFrame& frame) {
    if (frame.exact) {
      std::array<std::uint8_t, 4> code{};
      const std::size_t known = cursor_.read(frame.pc, std::as_writable_bytes(std::span(code)));
      constexpr std::array<std::uint8_t, 4> kMark{0xf3, 0x0f, 0x1e,
                                                  0xfa}; // endbr64, the first instruction of functions
      const bool before_push = known > 0 && (code[0] == 0x55 || code == kMark),
                 at_return = known > 0 && code[0] == 0xc3;
      if (before_push || at_return) return by_return_address(frame, 0, "code");
      if (known == code.size() && code[0] == 0x48 && code[1] == 0x89 && code[2] == 0xe5) // mov %rsp, %rbp
        return by_return_address(frame, kWord, "code");
    }
    const std::uint64_t rbp = registers_[kUnwindRbp];
    const auto saved = cursor_.word(rbp), word = cursor_.word(rbp + kWord);
    const bool plausible = rbp % kWord == 0 && rbp >= frame.begin && saved && word &&
                           memory_.region_at(rbp) == memory_.region_at(frame.begin) &&
                           (*word == 0 || follows_call(*word));
    if (!plausible)
      return cut(fmt::format("the code at {:#x} has no unwind table and keeps no frame pointer", frame.pc));
    Registers next = registers_;
    next[kUnwindRbp] = *saved;
    return to_guess(frame, next, rbp + 2 * kWord, *word);
  }

  // Whether the bytes in front of an address of code can be a call.
  bool follows_call(std::uint64_t address) {
    constexpr std::size_t kLongest = 7;
    if (address < kPageBytes || executable_at(address - 1) == nullptr) return false;
    std::array<std::uint8_t, kLongest> code{};
    if (cursor_.read(address - kLongest, std::as_writable_bytes(std::span(code))) != code.size()) return true;
    if (code[kLongest - 5] == 0xe8) return true; // call, relative
    for (std::size_t length = 2; length <= kLongest; ++length) {
      if (code[kLongest - length] == 0xff && (code[kLongest - length + 1] >> 3 & 7) == 2) return true; // call, indirect
    }
    return false;
  }

  SnapshotMemory& memory_;
  MemoryCursor& cursor_;
  ModuleTables& tables_;
  Registers registers_{};
  bool exact_ = true; // the next frame's pc is its next instruction
  int stacks_ = 0;
  std::unordered_map<std::uint64_t, std::optional<UnwindRow>> rows_; // by address
  ThreadFrames answer_;
};

} // namespace

ThreadFrames unwind_thread(const ThreadState& thread, SnapshotMemory& memory, ModuleTables& tables) {
  return Walk(thread, memory, tables).run();
}

std::optional<ThreadState> without_frames(const ThreadState& thread, std::size_t frames, SnapshotMemory& memory,
                                          ModuleTables& tables) {
  Walk walk(thread, memory, tables);
  if (walk.run(frames).end != FramesEnd::TooDeep) return std::nullopt;
  ThreadState caller = thread;
  for (std::size_t i = 0; i < kUnwindRegisters; ++i) caller.registers[kByNumber[i]] = walk.registers()[i];
  return caller;
}

} // namespace heaptape
