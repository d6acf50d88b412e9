// What a thread knows when the program is about to die of a signal, on its way through a ring: these bytes as MarkText records, then a Crash
// record whose address field is how many bytes they are, whose size field is 0, and whose stack is that of the instruction that was
// interrupted. The numbers are part of the wire layout and of the tape format: never renumber, only append.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/contents_question.h"

namespace heaptape::wire {

inline constexpr std::size_t kCrashCodeBytes = 16; // no instruction is longer than 15

struct CrashRecord {
  std::uint32_t signal;
  std::int32_t code; // si_code
  // The signal that ends the program: another one when its own handler of `signal` raised that. 0: the same.
  std::uint32_t ended_by;
  // 1: a handler of the program's own had `signal` first, and these facts were found in what the kernel left on the stack for it.
  std::uint32_t was_handled;
  std::uint64_t address; // what follows in siginfo_t: of a fault the address, of a signal that was sent the sender
  std::uint64_t registers[kAskerRegisters]; // by AskerRegister
  std::uint64_t error;      // of the page fault: bits 1 and 4 tell a write and a fetch of code from a read
  std::uint64_t trap;       // number of the processor's exception
  std::uint64_t frames;     // of the whole stack; 0: not counted
  std::uint32_t byte_count; // of `bytes`
  std::uint32_t pad0;
  std::uint8_t bytes[kCrashCodeBytes]; // at RIP
};
static_assert(sizeof(CrashRecord) == 216);

} // namespace heaptape::wire
