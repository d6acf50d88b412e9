#include "recorder/core/ring.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include "recorder/core/readable.h"
#include "recorder/core/slots.h"

namespace heaptape::recorder {

namespace {

// Room left for hooks in signal handlers that interrupt a hook between its look at the limit and its reservation.
constexpr std::uint64_t kSlack = 64;

// How long to wait for an answer. A collector that gets to run needs far less; one that was stopped is waited for once.
constexpr std::uint64_t kPatienceNs = 2'000'000'000;
constexpr std::uint64_t kPatienceLostNs = 10'000'000;
constinit std::atomic<std::uint64_t> g_patience_ns{kPatienceNs};

std::uint64_t now_ns() noexcept {
  timespec now{};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

// The time for InVain. In a sandbox the clock may be forbidden, so a look counts as the shortest time that one takes.
std::uint64_t wait_clock_ns(unsigned looks) noexcept {
  constexpr std::uint64_t kLookNs = 10'000;
  return in_sandbox() ? looks * kLookNs : now_ns();
}

// The kernel marks the collector's death in a word that still names the collector, and nowhere else.
bool cannot_see_it_die(const wire::Header& header) noexcept {
  const std::uint32_t holder = header.collector_mutex[0].load(std::memory_order_relaxed) & wire::kCollectorTidMask;
  return g_recorder.collector_tid != 0 && holder != g_recorder.collector_tid;
}

// A moment's sleep until the collector has taken something; in a sandbox only a moment.
void wait_a_little(wire::Header& header, std::uint32_t drained) noexcept {
  if (in_sandbox()) {
    for (int i = 0; i < 1000; ++i) pause();
    return;
  }
  header.waiting.fetch_add(1, std::memory_order_seq_cst);
  timespec most{0, 1'000'000};
  (void)system_call(SYS_futex, as_long(&header.drained), FUTEX_WAIT, static_cast<long>(drained), as_long(&most));
  header.waiting.fetch_sub(1, std::memory_order_relaxed);
}

} // namespace

void wake_collector(wire::Header& header) noexcept {
  if (header.collector_asleep.load(std::memory_order_acquire) == 0 || in_sandbox()) return;
  header.wake.fetch_add(1, std::memory_order_release);
  (void)system_call(SYS_futex, as_long(&header.wake), FUTEX_WAKE, 1);
}

bool CollectorWait::go_on(std::uint64_t done) noexcept {
  wire::Header& header = *g_recorder.header;
  if (!is_attached()) return false; // another thread has found out
  if (in_vain_(wait_clock_ns(looks_), done, drained_, cannot_see_it_die(header))) {
    stop_recorder(wire::OffReason::WrittenOver);
    return false;
  }
  if (++looks_ > 20) {
    wait_a_little(header, drained_);
  } else {
    for (int i = 0; i < 50; ++i) pause();
  }
  return true;
}

bool collector_is_gone(const wire::Header& header) noexcept {
  return header.collector_state.load(std::memory_order_acquire) == wire::kCollectorDone ||
         (header.collector_mutex[0].load(std::memory_order_acquire) & wire::kCollectorDied) != 0;
}

bool make_room(ThreadState& thread) noexcept {
  wire::Header& header = *g_recorder.header;
  const std::uint64_t capacity = thread.ring_mask + 1;
  CollectorWait wait;
  while (true) {
    wait.look();
    const std::uint64_t reserved = thread.slot->reserved.load(std::memory_order_relaxed);
    const std::uint64_t taken = thread.slot->taken.load(std::memory_order_acquire); // pairs with the collector's store
    const std::uint64_t used = reserved - taken;
    // Nobody reserves beyond the ring: somebody has written over the slot, and no waiting will mend it.
    if (used > capacity) {
      stop_recorder(wire::OffReason::WrittenOver);
      return false;
    }
    if (used >= capacity / 2) wake_collector(header);
    if (used < capacity - kSlack) {
      // Look again after another quarter, so that the collector is woken long before the ring is full.
      const std::uint64_t look_again = reserved + capacity / 4;
      const std::uint64_t full = taken + capacity - kSlack;
      thread.limit = look_again < full ? look_again : full;
      return true;
    }
    if (collector_is_gone(header)) {
      stop_recorder(wire::OffReason::CollectorGone);
      count_loss(wire::Loss::AfterCollector);
      return false;
    }
    if (g_recorder.config.on_full == wire::OnFull::Drop) {
      count_loss(wire::Loss::RingFull);
      return false;
    }
    if (!is_claimed(*thread.slot)) {
      stop_recorder(wire::OffReason::WrittenOver);
      return false;
    }
    if (!wait.go_on(taken)) return false;
  }
}

bool await_answer(ThreadState& thread, std::uint32_t question) noexcept {
  if (in_sandbox()) return false;
  wire::Header& header = *g_recorder.header;
  const std::uint64_t limit_ns = now_ns() + g_patience_ns.load(std::memory_order_relaxed);
  while (true) {
    const std::uint32_t seen =
        thread.slot->answered.load(std::memory_order_acquire); // pairs with the collector's answer
    const bool answered = static_cast<std::int32_t>(seen - question) >= 0;
    const bool given_up = !answered && (collector_is_gone(header) || now_ns() >= limit_ns);
    if (answered || given_up) {
      g_patience_ns.store(answered ? kPatienceNs : kPatienceLostNs, std::memory_order_relaxed);
      return answered;
    }
    // Repeatedly: the collector may have been about to sleep when it was last woken.
    wake_collector(header);
    timespec most{0, 1'000'000};
    (void)system_call(SYS_futex, as_long(&thread.slot->answered), FUTEX_WAIT, static_cast<long>(seen), as_long(&most));
  }
}

bool has_room(const ThreadState& thread) noexcept {
  const std::uint64_t taken = thread.slot->taken.load(std::memory_order_acquire); // pairs with the collector's store
  if (thread.slot->reserved.load(std::memory_order_relaxed) - taken < thread.ring_mask + 1 - kSlack) return true;
  if (collector_is_gone(*g_recorder.header)) stop_recorder(wire::OffReason::CollectorGone);
  return false;
}

bool await_room(const ThreadState& thread, std::uint64_t records) noexcept {
  constexpr int kLooks = 2000; // of a millisecond each
  wire::Header& header = *g_recorder.header;
  const std::uint64_t capacity = thread.ring_mask + 1;
  for (int i = 0; i < kLooks; ++i) {
    const std::uint32_t drained = header.drained.load(std::memory_order_acquire);
    const std::uint64_t taken = thread.slot->taken.load(std::memory_order_acquire); // pairs with the collector's store
    const std::uint64_t used = thread.slot->reserved.load(std::memory_order_relaxed) - taken;
    if (used <= capacity && capacity - used >= records) return true;
    if (used > capacity || capacity < records || !is_attached() || collector_is_gone(header)) return false;
    wake_collector(header);
    wait_a_little(header, drained);
  }
  return false;
}

void fill_holes(ThreadState& thread) noexcept {
  const std::uint64_t reserved = thread.slot->reserved.load(std::memory_order_relaxed);
  const std::uint64_t taken = thread.slot->taken.load(std::memory_order_acquire); // pairs with the collector's store
  if (reserved - taken > thread.ring_mask + 1) return; // somebody has written over the slot; make_room() will see it
  for (std::uint64_t position = taken; position < reserved; ++position) {
    wire::Record& record = thread.ring[position & thread.ring_mask];
    const std::uint64_t phase = wire::phase_of_lap(position >> thread.ring_shift);
    if ((record.word0.load(std::memory_order_relaxed) & wire::kPhaseBit) == phase) continue;
    record.word0.store(ticks_now() << 8 | phase | static_cast<std::uint8_t>(EventKind::None),
                       std::memory_order_release);
  }
}

} // namespace heaptape::recorder
