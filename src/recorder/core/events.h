// From a hook to the ring: finds the thread's state, captures the stack, writes the record.
#pragma once

#include <cstdint>

#include "recorder/core/busy.h"
#include "recorder/core/capture.h"
#include "recorder/core/ring.h"
#include "recorder/core/slots.h"
#include "recorder/core/thread_state.h"

namespace heaptape::recorder {

// The current thread's state; null until its first event, and after its last.
extern thread_local constinit ThreadState* t_thread [[gnu::tls_model("initial-exec")]];

// Who is asking: a function that the program called, or a signal handler of our own, where little is allowed.
enum class Caller : std::uint8_t { Code, Handler };

// Called once per thread after it has got its slot, to arrange for leave_thread() at its end. Set by the hooks.
using ThreadArrived = void (*)(ThreadState& thread, Caller caller) noexcept;
extern constinit ThreadArrived g_thread_arrived;

// The uncommon cases of record(): first event of a thread, a hook inside a hook. The site comes in parts, so that in record()
// it need not lie in memory.
[[gnu::noinline, gnu::cold]] bool record_unusual(EventKind kind, std::uint64_t address, std::uint64_t size,
                                                 bool with_stack, std::uint64_t pc, std::uint64_t slot,
                                                 std::uint64_t rbp) noexcept;

#ifdef HEAPTAPE_CHECK_STACKS
// Test builds only: compares each captured stack with another unwinder's.
void check_stack(const Frame& site, std::uint32_t stack) noexcept;
#else
inline void check_stack(const Frame&, std::uint32_t) noexcept {}
#endif

// Records one event; false when it was lost, and counted. Leaves errno alone. The thread's clock is read inside, so call it before a real free and after a real
// malloc: an address that changes hands between threads then always shows its release first.
[[gnu::always_inline]] inline bool record(EventKind kind, std::uint64_t address, std::uint64_t size, const Frame& site,
                                          bool with_stack) noexcept {
  ThreadState* thread = t_thread;
  if (thread == nullptr || is_busy(*thread)) [[unlikely]] {
    return record_unusual(kind, address, size, with_stack, site.pc, site.slot, site.rbp);
  }
  const Busy busy(*thread, site.slot);
  const std::uint32_t stack = with_stack ? capture(*thread, site) : 0;
  if (with_stack) check_stack(site, stack);
  return put(*thread, kind, address, size, stack);
}

// Instead of record() while recording is paused: cheap, without a stack. PausedAlloc for a block that came; for one that goes the
// kind of its release.
[[gnu::noinline, gnu::cold]] bool record_paused(EventKind kind, std::uint64_t address, std::uint64_t pc,
                                                std::uint64_t slot, std::uint64_t rbp) noexcept;

// While one of these lives, the calling thread's heap events are not recorded: an allocator behind ours that builds its
// calloc on malloc must not make two events of one. Its mappings still are.
class Suppressed {
public:
  Suppressed() noexcept : Suppressed(0) {}
  // Only releases of this block are not: its release is recorded already.
  explicit Suppressed(std::uint64_t released) noexcept;
  ~Suppressed() noexcept;
  Suppressed(const Suppressed&) = delete;
  Suppressed& operator=(const Suppressed&) = delete;

private:
  ThreadState* thread_;
  std::uint64_t released_; // of the one around this one
};

// A moment in the calling thread's events, to ask later what has happened since. Both only while is_recording(): a child of fork that
// is not followed has no ring.
struct Moment {
  const ThreadState* thread; // null: it had none yet
  std::uint64_t position;
};
[[nodiscard]] Moment moment_now() noexcept;
// Whether this thread has recorded, since then, that the block at `address` was made, and not that it was released after that.
[[nodiscard]] bool made_since(const Moment& moment, std::uint64_t address) noexcept;

// The calling thread's state, also while its heap events are suppressed; null: it has none.
[[nodiscard]] ThreadState* known_thread() noexcept;
// The same, but takes a slot for a thread that has none; null: there is no room. For records that are not heap events.
[[nodiscard]] ThreadState* join_thread(const Frame& site, Caller caller) noexcept;

// Calls visit(ThreadState&) for every thread that has a slot. They go on running meanwhile.
template <class Visit>
void each_thread(Visit visit) noexcept {
  const std::uint32_t slots = g_slots.ready.load(std::memory_order_acquire); // pairs with add_slots()
  for (std::uint32_t index = 0; index < slots; ++index) {
    const std::uint32_t state =
        slot_at(index)->state.load(std::memory_order_acquire); // pairs with the thread's arrival
    if (state == static_cast<std::uint32_t>(wire::SlotState::Claimed)) visit(*state_at(index));
  }
}
// The thread with this id; null: it has no slot.
[[nodiscard]] ThreadState* thread_with(std::uint32_t tid) noexcept;

// The thread is about to end: gives its slot back to the collector. A later event takes a new one.
void leave_thread() noexcept;

// In the child of a fork: forgets the parent's slot.
void forget_thread() noexcept;

} // namespace heaptape::recorder
