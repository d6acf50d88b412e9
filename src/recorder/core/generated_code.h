// Code that the program makes at run time (JIT compilers, trampolines): where it lies, by the program's own mappings, and what can be
// known about its frames without unwind tables.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "recorder/core/rules.h"

namespace heaptape::recorder {

// The program has made [start, start + size) executable. `sealed`: not writable at the same time, so what is there can change only
// through one of the calls below.
void note_executable(std::uint64_t start, std::uint64_t size, bool sealed) noexcept;
// The program is about to change what may be done with [start, start + size): rules that were read from code there are forgotten.
inline void note_protecting(std::uint64_t start, std::uint64_t size) noexcept;
// The program is about to unmap or has just mapped [start, start + size): what was generated there is gone, and from now on the same
// address means something else.
inline void note_remapping(std::uint64_t start, std::uint64_t size) noexcept;

[[nodiscard]] bool is_generated_code(std::uint64_t pc) noexcept;

// The rule of a return address in generated code: what the code there will do to the stack if it returns at once, else a guess that it
// keeps a frame pointer.
[[nodiscard]] Rule generated_rule(std::uint64_t return_address) noexcept;

// How the function leaves when all it does after this call is to clean up and return: `add rsp, n`, `pop`, `ret`. False: it does more.
// For generated_rule() and its tests.
[[nodiscard]] bool read_epilogue(const std::uint8_t* code, std::size_t size, Rule& rule) noexcept;

// Whether the instruction that ends at code[size] can be a call.
[[nodiscard]] bool ends_with_call(const std::uint8_t* code, std::size_t size) noexcept;

// For the two above: most programs generate nothing.
extern std::atomic<bool> g_code_was_generated;
void forget_protected(std::uint64_t start, std::uint64_t size) noexcept;
void forget_remapped(std::uint64_t start, std::uint64_t size) noexcept;

inline void note_protecting(std::uint64_t start, std::uint64_t size) noexcept {
  if (g_code_was_generated.load(std::memory_order_relaxed)) [[unlikely]]
    forget_protected(start, size);
}
inline void note_remapping(std::uint64_t start, std::uint64_t size) noexcept {
  if (g_code_was_generated.load(std::memory_order_relaxed)) [[unlikely]]
    forget_remapped(start, size);
}

} // namespace heaptape::recorder
