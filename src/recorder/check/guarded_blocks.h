// Blocks on pages of their own, with a page on either side that nobody may touch:
//
//   | guard | ...... block| guard |block ...... | guard |        a block at the end of its pages, and one at their begin
//
// A released block's pages become guards, too, and stay so for long. An access outside of a block, or into a released one, is a fault at
// the very instruction: the program dies there, and its tape says what was at that address.
// Pages are guarded by MADV_GUARD_INSTALL where the kernel has it (6.13), which needs no mapping of its own for each; else by mprotect,
// until there are no more mappings to be had.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/check/region.h"
#include "recorder/check/small_blocks.h"
#include "wire/memory_error.h"

namespace heaptape::recorder {

struct GuardedBlock {
  char* user;
  std::uint64_t size;
  std::uint32_t first_page; // in the region of guarded blocks
  std::uint32_t pages;
  GuardedBlock* next; // released after it
  std::atomic<BlockState> state;
  std::uint8_t log_alignment;
  bool was_hit; // one of its guards was opened
};

// False: there is no address space.
[[nodiscard]] bool open_guarded(std::uint64_t most) noexcept;
[[nodiscard]] std::uint64_t guarded_bytes() noexcept; // of address space

// Whether blocks like this are to be guarded.
[[nodiscard]] bool is_to_guard(const Wish& wish) noexcept;
// Null: not this one; there is no room, or the thread was interrupted in here.
[[nodiscard]] char* make_guarded(const Wish& wish) noexcept;
// A live block, whose slack was looked at.
void put_guarded(GuardedBlock& block) noexcept;

// The block whose pages an address lies in; null: none.
[[nodiscard]] GuardedBlock* find_guarded(const void* address) noexcept;

// Opens the page that the program has faulted at, and says which block it belongs to or lies beside; null: none. In a signal handler.
[[nodiscard]] GuardedBlock* open_fault(const void* address) noexcept;

// What is on the pages beside the block.
[[nodiscard]] bool is_slack_whole(const GuardedBlock& block) noexcept;
void report_slack(const GuardedBlock& block, FoundAt found) noexcept;

// One behind the last page that a block was ever put on.
[[nodiscard]] std::uint32_t guarded_pages() noexcept;
// The block that begins on a page; null: none does.
[[nodiscard]] GuardedBlock* guarded_at(std::uint32_t page) noexcept;

void lock_guarded() noexcept; // around a fork, and while pages are looked at that somebody may close
void unlock_guarded() noexcept;

} // namespace heaptape::recorder
