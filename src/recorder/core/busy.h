// A thread inside the recorder says so in its slot: the collector does not merge past the time of its last record until it is
// done, and a hook that a signal handler calls meanwhile knows that it interrupts another one.
#pragma once

#include <cstdint>

#include "recorder/core/machine.h"
#include "recorder/core/thread_state.h"

namespace heaptape::recorder {

inline bool is_busy(const ThreadState& thread) noexcept {
  return thread.slot->busy.load(std::memory_order_relaxed) != 0;
}

// Ends what a Busy began whose destructor cannot run any more: a longjmp left the hook.
inline void end_busy(ThreadState& thread) noexcept { thread.slot->busy.store(0, std::memory_order_release); }

// The thread is busy while this lives. Must not be nested: a caller that finds the thread busy leaves it so.
class Busy {
public:
  // `entry_slot` is the stack slot of the hook, by which an abandoned hook is recognised.
  [[gnu::always_inline]] Busy(ThreadState& thread, std::uint64_t entry_slot) noexcept : thread_(thread) {
    thread.slot->busy.store(1, std::memory_order_relaxed);
    thread.entry_slot = entry_slot;
    compiler_barrier();
  }
  [[gnu::always_inline]] ~Busy() noexcept { end_busy(thread_); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

private:
  ThreadState& thread_;
};

} // namespace heaptape::recorder
