#include "recorder/core/events.h"

#include <signal.h>
#include <sys/syscall.h>

#include "recorder/core/cpu_timer.h"
#include "recorder/core/machine.h"
#include "recorder/core/recorder.h"
#include "recorder/core/thread_name.h"

namespace heaptape::recorder {

thread_local constinit ThreadState* t_thread [[gnu::tls_model("initial-exec")]] = nullptr;
constinit ThreadArrived g_thread_arrived = nullptr;

namespace {

enum class Arrival : std::uint8_t { No, Claiming, Arranging };
thread_local constinit Arrival t_arrival [[gnu::tls_model("initial-exec")]] = Arrival::No;
// The thread has borrowed slots before, so its next ThreadStart record does not begin it.
thread_local constinit bool t_has_borrowed [[gnu::tls_model("initial-exec")]] = false;

// Stands in for a thread's state while it is suppressed; its slot is always busy, so every event takes the slow path.
constinit wire::ThreadSlot g_suppressed_slot{};
constinit ThreadState g_suppressed{};
thread_local constinit ThreadState* t_behind_suppressed [[gnu::tls_model("initial-exec")]] = nullptr;
// The one block whose release is suppressed; 0: all heap events are.
thread_local constinit std::uint64_t t_released [[gnu::tls_model("initial-exec")]] = 0;

bool is_suppressed(EventKind kind, std::uint64_t address) noexcept {
  if (is_mapping(kind)) return false;
  return t_released == 0 || (t_released == address && is_release(kind));
}

// Threads are threads of a program, from their first event to their end.
bool follows_threads() noexcept { return g_thread_arrived != nullptr; }

std::uint64_t thread_pointer() noexcept {
  std::uint64_t pointer = 0;
  asm("movq %%fs:0, %0" : "=r"(pointer));
  return pointer;
}

// A thread's control block sits at the top of its stack; the first thread's stack is the process's.
std::uint64_t stack_top_of(const ThreadState& thread, const Frame& site) noexcept {
  const bool is_main =
      thread.tid == g_recorder.main_tid ||
      (site.slot < g_recorder.main_stack_top && g_recorder.main_stack_top - site.slot < g_recorder.stack_reach);
  return is_main ? g_recorder.main_stack_top : thread_pointer();
}

ThreadState* prepare(std::uint32_t index, const Frame& site) noexcept {
  const std::uint32_t records = wire::ring_records_of(index, g_recorder.config.ring_records);
  ThreadState* thread = state_at(index);
  thread->ring = ring_at(index);
  thread->ring_mask = records - 1;
  thread->ring_shift = static_cast<unsigned>(__builtin_ctz(records));
  thread->limit = 0;
  thread->slow_captures = 0;
  thread->name[0] = '\0';
  disarm_cpu_timer(*thread); // of a thread that ended without telling us
  thread->cache.start();     // the former thread's stack is gone
  if (thread->slot != nullptr) thread->known.start();
  thread->slot = slot_at(index);
  // A filter may forbid even this; then the collector does without the number.
  thread->tid = in_sandbox() ? 0 : static_cast<std::uint32_t>(system_call(SYS_gettid));
  thread->stack.start(stack_top_of(*thread, site), g_recorder.stack_reach);
  return thread;
}

// Keeps signal handlers out while it lives: one that allocates while its thread is taking a slot would lose its events. Where
// system calls may be forbidden it does nothing.
class SignalsHeld {
public:
  SignalsHeld() noexcept : held_(!in_sandbox()) {
    const std::uint64_t all = ~std::uint64_t{0};
    if (held_) held_ = system_call(SYS_rt_sigprocmask, SIG_SETMASK, as_long(&all), as_long(&before_), sizeof all) == 0;
  }
  ~SignalsHeld() noexcept {
    if (held_) (void)system_call(SYS_rt_sigprocmask, SIG_SETMASK, as_long(&before_), 0, sizeof before_);
  }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

private:
  bool held_;
  std::uint64_t before_ = 0;
};

// For how long a thread gets a slot: until it ends, or for its next record.
enum class Term : std::uint8_t { Life, Record };

// Takes a free slot for the calling thread. Null when there is none, or when this thread is already taking one.
ThreadState* arrive(const Frame& site, Caller caller, Term term) noexcept {
  if (t_arrival == Arrival::Arranging) return nullptr; // our own doing, not the program's
  if (t_arrival == Arrival::Claiming) {                // a signal handler interrupted the claiming
    count_loss(wire::Loss::BeforeStart);
    return nullptr;
  }
  const SignalsHeld held;
  if (t_thread != nullptr) return term == Term::Life ? t_thread : nullptr; // a signal handler was faster
  t_arrival = Arrival::Claiming;
  ThreadState* thread = nullptr;
  const std::uint32_t index = term == Term::Life ? claim_slot() : claim_lent_slot();
  if (index != kNoSlot) {
    thread = prepare(index, site);
    {
      const Busy busy(*thread, site.slot);
      thread->slot->tid.store(thread->tid, std::memory_order_relaxed);
      thread->slot->state.store(static_cast<std::uint32_t>(wire::SlotState::Claimed), std::memory_order_release);
      t_thread = thread;
      t_has_borrowed = t_has_borrowed || term == Term::Record;
      const std::uint32_t borrowed = t_has_borrowed ? wire::kBorrowedSlot : 0;
      (void)put(*thread, EventKind::ThreadStart, stack_top_of(*thread, site), thread->tid, borrowed);
      if (term == Term::Life && follows_threads()) put_thread_name(*thread);
    }
    t_arrival = Arrival::Arranging;
    if (g_thread_arrived != nullptr && term == Term::Life) g_thread_arrived(*thread, caller);
  }
  t_arrival = Arrival::No;
  return thread;
}

// What to do when no slot is free.
enum class Room : std::uint8_t { LookAgain, Borrow, None, CollectorGone }; // gone, or out of reach

// Waits a moment. False: no thread has got a slot for so long that waiting is pointless.
bool wait_for_slot(CollectorWait& wait) noexcept { return wait.go_on(g_slots.claimed.load(std::memory_order_relaxed)); }

// Waits for slots of threads that have ended, or adds slots. Waiting comes first, so that a program whose threads come
// and go does not take ever more memory. A caller that must not wait for the collector only adds.
Room find_room(Caller caller, CollectorWait& wait) noexcept {
  wire::Header& header = *g_recorder.header;
  if (collector_is_gone(header)) {
    stop_recorder(wire::OffReason::CollectorGone);
    return Room::CollectorGone;
  }
  const bool may_wait = caller == Caller::Code && g_recorder.config.on_full == wire::OnFull::Wait;
  Growth growth = Growth::UnderWay;
  if (!may_wait || !is_slot_coming_free()) {
    const SignalsHeld held; // a handler that interrupts the growing would wait for its end
    growth = add_slots();
  }
  if (growth == Growth::Done) return Room::LookAgain;
  if (growth == Growth::Impossible) return may_wait ? Room::Borrow : Room::None;
  wake_collector(header);
  return wait_for_slot(wait) ? Room::LookAgain : Room::CollectorGone;
}

void give_back(ThreadState& thread) noexcept {
  compiler_barrier();
  end_busy(thread);
  thread.slot->state.store(static_cast<std::uint32_t>(wire::SlotState::Exiting), std::memory_order_release);
}

// The first record of a thread, and every record of one for which there is no slot to keep.
bool record_first(EventKind kind, std::uint64_t address, std::uint64_t size, bool with_stack,
                  const Frame& site) noexcept {
  for (CollectorWait wait;;) {
    wait.look();
    if (arrive(site, Caller::Code, Term::Life) != nullptr) return record(kind, address, size, site, with_stack);
    if (t_arrival != Arrival::No) return false;
    const Room room = find_room(Caller::Code, wait);
    if (room == Room::LookAgain) continue;
    if (room != Room::Borrow) {
      count_loss(room == Room::None ? wire::Loss::NoThreadSlot : wire::Loss::AfterCollector);
      return false;
    }
    if (ThreadState* const lent = arrive(site, Caller::Code, Term::Record); lent != nullptr) {
      const bool recorded = record(kind, address, size, site, with_stack);
      t_thread = nullptr;
      give_back(*lent);
      wake_collector(*g_recorder.header);
      return recorded;
    }
    wake_collector(*g_recorder.header);
    if (!wait_for_slot(wait)) {
      count_loss(wire::Loss::AfterCollector);
      return false;
    }
  }
}

// The hook that marked the thread busy cannot be running any more: its frame is gone from the stack we stand on.
bool was_abandoned(ThreadState& thread, const Frame& site) noexcept {
  return site.slot >= thread.entry_slot && thread.stack.on_own_stack(site.slot) &&
         thread.stack.on_own_stack(thread.entry_slot);
}

} // namespace

bool record_unusual(EventKind kind, std::uint64_t address, std::uint64_t size, bool with_stack, std::uint64_t pc,
                    std::uint64_t slot, std::uint64_t rbp) noexcept {
  const Frame site{pc, slot, rbp};
  ThreadState* thread = t_thread;
  if (thread == &g_suppressed) {
    if (is_suppressed(kind, address) || t_behind_suppressed == nullptr) return false;
    t_thread = t_behind_suppressed;
    const bool recorded = record(kind, address, size, site, with_stack);
    t_thread = thread;
    return recorded;
  }
  if (thread == nullptr) return record_first(kind, address, size, with_stack, site);
  if (was_abandoned(*thread, site)) {
    count_loss(wire::Loss::AbandonedHook);
    fill_holes(*thread);
    thread->slow_captures = 0;
    thread->cache.count = 0;
    end_busy(*thread);
    return record(kind, address, size, site, with_stack);
  }
  // A signal handler that interrupted a hook: the interrupted capture owns the cache, so unwind without it. The slot stays
  // busy on behalf of the hook below.
  const std::uint32_t stack = with_stack ? capture_slowly(*thread, site) : 0;
  if (with_stack) check_stack(site, stack);
  return put(*thread, kind, address, size, stack);
}

bool record_paused(EventKind kind, std::uint64_t address, std::uint64_t pc, std::uint64_t slot,
                   std::uint64_t rbp) noexcept {
  return is_recording() && record(kind, address, 0, Frame{pc, slot, rbp}, false);
}

Suppressed::Suppressed(std::uint64_t released) noexcept : thread_(t_thread), released_(t_released) {
  if (thread_ == &g_suppressed) {
    if (t_released != 0) t_released = released; // where everything is suppressed, it stays so
    return;
  }
  if (g_suppressed.slot == nullptr) { // all threads read it, and write the same
    g_suppressed_slot.busy.store(1, std::memory_order_relaxed);
    g_suppressed.slot = &g_suppressed_slot;
  }
  t_behind_suppressed = thread_;
  t_released = released;
  t_thread = &g_suppressed;
}

Suppressed::~Suppressed() noexcept {
  t_thread = thread_;
  t_released = released_;
}

Moment moment_now() noexcept {
  const ThreadState* thread = known_thread();
  return {thread, thread != nullptr ? thread->slot->reserved.load(std::memory_order_relaxed) : 0};
}

bool made_since(const Moment& moment, std::uint64_t address) noexcept {
  const ThreadState* thread = known_thread();
  if (thread == nullptr) return false;
  const std::uint64_t end = thread->slot->reserved.load(std::memory_order_relaxed);
  std::uint64_t count = moment.thread == thread ? end - moment.position : end;
  if (count > thread->ring_mask) count = thread->ring_mask; // as far as they are still there
  for (std::uint64_t i = 1; i <= count; ++i) {
    const wire::Record& record = thread->ring[(end - i) & thread->ring_mask];
    const auto kind = static_cast<EventKind>(record.word0.load(std::memory_order_relaxed) & wire::kKindMask);
    if (kind == EventKind::ThreadStart) return false; // before that it was another thread's ring
    if ((record.word1.load(std::memory_order_relaxed) & wire::kAddressMask) != address) continue;
    if (is_allocation(kind) || kind == EventKind::PausedAlloc || kind == EventKind::Realloc ||
        kind == EventKind::ReallocArray || kind == EventKind::PausedRealloc) {
      return true;
    }
    if (is_release(kind)) return false;
  }
  return false;
}

ThreadState* known_thread() noexcept { return t_thread == &g_suppressed ? t_behind_suppressed : t_thread; }

ThreadState* join_thread(const Frame& site, Caller caller) noexcept {
  if (ThreadState* const thread = known_thread(); thread != nullptr) return thread;
  if (t_thread != nullptr || t_arrival != Arrival::No) return nullptr;
  for (CollectorWait wait;;) {
    wait.look();
    ThreadState* const thread = arrive(site, caller, Term::Life);
    if (thread != nullptr) return thread;
    if (t_arrival != Arrival::No || find_room(caller, wait) != Room::LookAgain) break;
  }
  count_loss(wire::Loss::CpuThreads);
  return nullptr;
}

ThreadState* thread_with(std::uint32_t tid) noexcept {
  ThreadState* found = nullptr;
  each_thread([&](ThreadState& thread) {
    if (thread.tid == tid) found = &thread;
  });
  return found;
}

void leave_thread() noexcept {
  ThreadState* thread = t_thread;
  if (thread == nullptr) return;
  if (is_attached()) disarm_cpu_timer(*thread); // while its handler still knows the thread
  t_thread = nullptr;
  if (!is_attached()) return;
  {
    const Busy busy(*thread, 0);
    if (follows_threads()) put_thread_name(*thread);
    (void)put(*thread, EventKind::ThreadEnd, 0, 0, 0);
  }
  give_back(*thread);
}

void forget_thread() noexcept {
  t_thread = nullptr;
  t_arrival = Arrival::No;
  t_has_borrowed = false;
}

} // namespace heaptape::recorder
