// What a crash was, from the facts of the thread that died: which memory it wanted, or why it was ended. Without names and without the heap;
// these come from whoever tells it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "report/crash/operand.h"
#include "tape/contents.h"
#include "tape/crash.h"

namespace heaptape {

enum class FaultKind : std::uint8_t {
  Memory,        // it wanted memory that is not there, or may not be used so
  StackOverflow, // the same, just below its stack
  WildJump,      // it went on where no code is
  FileEnd,       // beyond the end of a mapped file
  Misaligned,
  Division, // by zero, or with a result that is too large
  FloatingPoint,
  IllegalInstruction,
  Trap,
  ForbiddenCall, // a system call
  Abort,         // it raised SIGABRT itself
  Sent,          // by a process, maybe by itself
  Other,
};
const char* fault_kind_name(FaultKind kind); // "memory", "stack overflow", ...

enum class AccessKind : std::uint8_t { Unknown, Read, Write, Execute };
const char* access_word(AccessKind kind); // "read", "write", "execution", "access"

struct Fault {
  FaultKind kind = FaultKind::Other;
  AccessKind access = AccessKind::Unknown;
  std::optional<std::uint64_t> address{}; // that was wanted
  bool from_operand = false;              // the kernel did not say it: the instruction does
  bool not_permitted = false;             // there is memory, but not for this
  unsigned bytes = 0;                     // of the access; 0: not known
  std::optional<Instruction> instruction{};
  std::optional<MemoryOperand> operand{}; // that leads to the address
  std::uint64_t stack_bytes = 0;          // StackOverflow: how much of it there was
  std::uint32_t sender = 0;               // Abort and Sent: the process
};

Fault fault_of(const Crash& crash, std::span<const Thread> threads);

// "rax + 4*rcx + 0x18", "rip + 0x2f10".
std::string operand_text(const MemoryOperand& operand);

} // namespace heaptape
