// Puts records into the current thread's ring.
#pragma once

#include <cstdint>

#include "recorder/core/in_vain.h"
#include "recorder/core/machine.h"
#include "recorder/core/recorder.h"
#include "recorder/core/thread_state.h"

namespace heaptape::recorder {

// Ticks since the recording began: TSC where it is invariant, else nanoseconds.
inline std::uint64_t ticks_now() noexcept {
  if (g_recorder.clock_is_tsc) [[likely]]
    return read_tsc() - g_recorder.clock_base;
  return ticks_without_tsc();
}

// It has finished, given up, or died.
[[nodiscard]] bool collector_is_gone(const wire::Header& header) noexcept;

// Wakes the collector if it sleeps.
void wake_collector(wire::Header& header) noexcept;

// One wait of a thread for something that the collector is to do: look(), see whether it is done, go_on(), and again.
class CollectorWait {
public:
  // Before each look at what is waited for.
  void look() noexcept { drained_ = g_recorder.header->drained.load(std::memory_order_acquire); }
  // Gives the collector time; the first looks are close together. `done` changes whenever some of it is done. False: there is no
  // sense in waiting, for somebody has written over the shared memory; the recorder is off.
  [[nodiscard]] bool go_on(std::uint64_t done) noexcept;

private:
  unsigned looks_ = 0;
  std::uint32_t drained_ = 0;
  InVain in_vain_;
};

// Called when the ring may be full: wakes the collector, waits for it or not as configured. False: no room, drop it.
[[nodiscard]] bool make_room(ThreadState& thread) noexcept;

// Waits until the collector has answered this thread's question, but not for long. False: it has not.
[[nodiscard]] bool await_answer(ThreadState& thread, std::uint32_t question) noexcept;

// Whether put() would find room without waiting; for signal handlers. Notices when the collector is gone.
[[nodiscard]] bool has_room(const ThreadState& thread) noexcept;

// Writes every reserved record that was never finished as "nothing", so that the collector gets past it. One lap of them at most.
void fill_holes(ThreadState& thread) noexcept;

// For a thread that is about to die: waits until there is room for this many records, but not for long. False: there is none.
[[nodiscard]] bool await_room(const ThreadState& thread, std::uint64_t records) noexcept;

// Where there is known to be room: never waits.
inline void put_in_room(ThreadState& thread, EventKind kind, std::uint64_t address, std::uint64_t size,
                        std::uint32_t stack) noexcept {
  const std::uint64_t position = take_one(reinterpret_cast<std::uint64_t*>(&thread.slot->reserved));
  wire::Record& record = thread.ring[position & thread.ring_mask];
  const std::uint64_t phase = wire::phase_of_lap(position >> thread.ring_shift);
  record.word1.store((address & wire::kAddressMask) | (size >> 32) << 48, std::memory_order_relaxed);
  record.word2.store((size & 0xffff'ffffu) | std::uint64_t{stack} << 32, std::memory_order_relaxed);
  record.word0.store(ticks_now() << 8 | phase | static_cast<std::uint8_t>(kind), std::memory_order_release);
}

// False: dropped, and counted.
inline bool put(ThreadState& thread, EventKind kind, std::uint64_t address, std::uint64_t size,
                std::uint32_t stack) noexcept {
  if (thread.slot->reserved.load(std::memory_order_relaxed) >= thread.limit) [[unlikely]] {
    if (!make_room(thread)) return false;
  }
  put_in_room(thread, kind, address, size, stack);
  return true;
}

} // namespace heaptape::recorder
