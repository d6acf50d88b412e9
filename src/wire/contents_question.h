// The program asks its collector for a snapshot of its memory: by heaptape_contents(), or because it is about to end or has crashed and the
// options of the recording want one. One thread at a time; it sleeps on `state`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heaptape::wire {

enum class ContentsReason : std::uint32_t { Call = 0, Exit = 1, Crash = 2 };
constexpr std::uint32_t reason_bit(ContentsReason reason) { return 1U << static_cast<std::uint32_t>(reason); }

// The registers of the asking thread where it left the program's own code, in the order of gregs in <sys/ucontext.h>.
inline constexpr std::size_t kAskerRegisters = 18;
enum class AskerRegister : std::uint8_t {
  R8,
  R9,
  R10,
  R11,
  R12,
  R13,
  R14,
  R15,
  Rdi,
  Rsi,
  Rbp,
  Rbx,
  Rdx,
  Rax,
  Rcx,
  Rsp,
  Rip,
  Eflags,
};

inline constexpr std::size_t kContentsNameBytes = 128;

struct ContentsQuestion {
  std::atomic<std::uint32_t> state;  // Question
  std::atomic<std::uint32_t> asker;  // the thread; 0: none
  std::atomic<std::uint32_t> reason; // ContentsReason
  std::atomic<std::uint32_t> beat;   // the collector counts on while it works at the answer
  std::atomic<std::uint32_t>
      signals; // signals of Config::contents_signals that have come; nobody waits for these snapshots
  std::atomic<std::uint32_t> last_signal;
  std::atomic<std::uint64_t> number;  // the answer: of the snapshot, counted from 1; 0: there is none
  std::atomic<std::uint64_t> vectors; // where the kernel saved the vector registers; 0: they hold nothing any more
  std::atomic<std::uint32_t> signal;  // of a crash
  std::atomic<std::int32_t> code;     // and its si_code
  std::atomic<std::uint64_t>
      detail; // what follows in siginfo_t: of a fault the address, of a signal that was sent the sender
  std::atomic<std::uint64_t> registers[kAskerRegisters];
  char name[kContentsNameBytes]; // may not be terminated
};

} // namespace heaptape::wire
