// Blocks of up to 128 KiB, in slots of their size class.
#pragma once

#include <cstdint>

#include "recorder/check/region.h"
#include "recorder/check/thread_cache.h"

namespace heaptape::recorder {

// What was asked for.
struct Wish {
  std::uint64_t size;
  unsigned log_alignment; // beyond 16; 0: none
  bool zero;
};

constexpr std::uint64_t slot_bytes_for(const Wish& wish) noexcept {
  return wish.size + 16 + (wish.log_alignment != 0 ? std::uint64_t{1} << wish.log_alignment : 0);
}
constexpr bool fits_slot(const Wish& wish) noexcept {
  return wish.size <= kLargestSlot && wish.log_alignment < 16 && slot_bytes_for(wish) <= kLargestSlot;
}

// The thread is busy in the cache. Null: no memory.
[[nodiscard]] char* make_small(ThreadCache& cache, const Wish& wish) noexcept;
// A live block, whose redzones were looked at.
void put_small(ThreadCache& cache, const Slot& slot, BlockFacts facts) noexcept;

// The same in a signal handler that has interrupted its thread in here. Null: not now.
[[nodiscard]] char* make_small_nested(const Wish& wish) noexcept;
void put_small_nested(const Slot& slot, BlockFacts facts) noexcept;

// Live, and the same block afterwards. False: it does not fit, or would leave most of the slot empty.
[[nodiscard]] bool resize_small(const Slot& slot, BlockFacts facts, std::uint64_t size) noexcept;

void lock_small() noexcept; // around a fork
void unlock_small() noexcept;

} // namespace heaptape::recorder
