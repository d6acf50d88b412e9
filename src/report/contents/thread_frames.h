// What a thread was doing at a snapshot: its stack, unwound from its registers and from memory as the snapshot has them.
//
//   frame   begins where the stack pointer stood while its function ran, and ends at the CFA, where that of its caller begins:
//
//      begin of #0 = rsp   | locals of #0            |
//                          | return address into #1  |
//      begin of #1         | locals of #1            |   arguments on the stack belong to the caller
//                          | return address into #2  |
//      begin of #2         | ...                     |
//
//   how     1. the module's unwind table; it also leads through signal handlers, the kernel's own code and onto other stacks
//           2. where the handler of a signal returns to without a table: the registers that the kernel keeps there
//           3. code without a table (made at run time, or by hand): the first instructions of a function and a lone `ret` say where the
//              return address lies; else rbp is taken for a frame pointer, if it leads to where a call returns to
//
// The last step is a guess, and such frames say so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/contents/module_tables.h"
#include "report/contents/snapshot_memory.h"

namespace heaptape {

struct StackFrame {
  std::uint64_t pc = 0;
  std::uint64_t begin = 0;      // on the stack
  std::uint64_t end = 0;        // equal to begin: not known
  std::uint64_t frame_base = 0; // the CFA as debug information counts from it; 0: not known
  const Module* module = nullptr;
  bool exact = false;          // pc is the next instruction; else where a call returns to
  bool signal_handler = false; // not a call: here the kernel called the handler of a signal
  bool guessed = false;        // its caller was found without a table

  // An address inside the instruction in question.
  std::uint64_t code_address() const { return exact || pc == 0 ? pc : pc - 1; }
};

enum class FramesEnd : std::uint8_t { Whole, Cut, TooDeep };

struct ThreadFrames {
  std::vector<StackFrame> frames{}; // innermost first
  FramesEnd end = FramesEnd::Whole;
  std::string why{}; // of Cut: in a few words
};

// Of a thread that was stopped.
ThreadFrames unwind_thread(const ThreadState& thread, SnapshotMemory& memory, ModuleTables& tables);
// The thread without this many of its innermost frames, with the registers that they keep for their callers; nullopt: it has not so many.
std::optional<ThreadState> without_frames(const ThreadState& thread, std::size_t frames, SnapshotMemory& memory,
                                          ModuleTables& tables);

} // namespace heaptape
