// What a thread has at hand: for each size class the slots that were released here, in the order of their release. That is the quarantine
// and the free list in one. A slot may be used again when enough was released after it:
//
//   head                                             tail
//    | slot, 100 | slot, 103 | slot, 160 | slot, 190 |          the thread's clock: 192 (units of 64 bytes released)
//    `--- aged: 192 - 100 >= quarantine ---'
//
// Nothing ever looks for what has aged, and nothing is moved: the check for damage is made when a slot is used again.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/check/size_class.h"

namespace heaptape::recorder {

inline constexpr std::uint64_t kClockUnit = 64; // bytes

struct ReleasedSlot {
  std::uint32_t number; // its place in the region by 16 bytes
  std::uint32_t clock;  // the thread's, when it was released
};

struct SlotRing {
  ReleasedSlot* slots; // null: none yet
  std::uint32_t head, tail;
  std::uint32_t mask;
  std::uint32_t fresh_left; // slots from `fresh` on that were never used
  char* fresh;

  std::uint32_t count() const noexcept { return tail - head; }
  ReleasedSlot& at(std::uint32_t position) const noexcept { return slots[position & mask]; }
};

struct ThreadCache {
  SlotRing rings[kClasses];
  std::uint32_t clock;
  std::uint32_t swept; // the clock at the thread's last look at all blocks
  // 1 while the thread is in here. A signal handler that finds it so takes another way. Plain loads and stores: nobody else looks.
  std::atomic<std::uint32_t> busy;
  ThreadCache* next; // of those whose threads have ended
};

extern thread_local constinit ThreadCache* t_cache [[gnu::tls_model("initial-exec")]];

// A cache for the calling thread, perhaps one of a thread that has ended. Null: there is no memory.
[[nodiscard]] ThreadCache* make_cache() noexcept;
// Somebody else may have it now.
void leave_cache() noexcept;

// How many units must be released after a slot before it is used again.
extern constinit std::atomic<std::uint32_t> g_quarantine_units;
// The same in bytes, for large blocks.
[[nodiscard]] std::uint64_t quarantine_bytes() noexcept;
// More memory was taken for blocks: the quarantine grows with the heap.
void note_heap_bytes(std::uint64_t bytes) noexcept;

void lock_caches() noexcept; // around a fork
void unlock_caches() noexcept;

} // namespace heaptape::recorder
