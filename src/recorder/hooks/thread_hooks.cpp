// Threads that are to be profiled get their timers before their first instruction; and what <heaptape/profile.h> calls.
#include <pthread.h>
#include <threads.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "recorder/core/cpu_profile.h"
#include "recorder/core/events.h"
#include "recorder/hooks/hook.h"
#include "recorder/hooks/real.h"

namespace heaptape::recorder {

namespace {

// What a thread is to do, from its creation to its start. When all are in use, a thread starts without us and gets its timer with its
// first heap event.
struct Start {
  std::atomic<bool> taken{false};
  void* routine = nullptr; // of the sort that its creator takes
  void* argument = nullptr;
};
constexpr std::size_t kStarts = 256;
constinit Start g_starts[kStarts];

template <class Routine>
Start* take_start(Routine routine, void* argument) noexcept {
  if (!is_attached() || !is_profiling()) return nullptr;
  for (Start& start : g_starts) {
    if (start.taken.load(std::memory_order_relaxed) || start.taken.exchange(true, std::memory_order_acquire)) continue;
    start.routine = reinterpret_cast<void*>(routine);
    start.argument = argument;
    return &start;
  }
  return nullptr;
}

// Jumps to the routine in the end, so that there is no frame of ours on the thread's stack.
template <class Result>
[[gnu::noinline]] Result begin_thread(void* given) {
  Start& start = *static_cast<Start*>(given);
  const auto routine = reinterpret_cast<Result (*)(void*)>(start.routine);
  void* const argument = start.argument;
  start.taken.store(false, std::memory_order_release);
  if (is_attached() && is_profiling()) (void)join_thread(HT_CALL_SITE(), Caller::Code);
  return routine(argument);
}

enum ProfileCall : unsigned { kStart, kDump, kStop };

} // namespace

} // namespace heaptape::recorder

using namespace heaptape;
using namespace heaptape::recorder;

HT_HOOK int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                           void* argument) {
  if (g_real.pthread_create == nullptr) find_real_functions();
  Start* const start = take_start(routine, argument);
  if (start == nullptr) return g_real.pthread_create(thread, attributes, routine, argument);
  const int result = g_real.pthread_create(thread, attributes, begin_thread<void*>, start);
  if (result != 0) start->taken.store(false, std::memory_order_release);
  return result;
}

// libc makes these without calling the function above.
HT_HOOK int thrd_create(thrd_t* thread, thrd_start_t routine, void* argument) {
  if (g_real.thrd_create == nullptr) find_real_functions();
  Start* const start = take_start(routine, argument);
  if (start == nullptr) return g_real.thrd_create(thread, routine, argument);
  const int result = g_real.thrd_create(thread, begin_thread<int>, start);
  if (result != thrd_success) start->taken.store(false, std::memory_order_release);
  return result;
}

HT_HOOK int pthread_cancel(pthread_t thread) {
  if (g_real.pthread_cancel == nullptr) find_real_functions();
  const int result = g_real.pthread_cancel(thread); // installs libc's handler when it is called for the first time
  if (is_attached() && is_profiling()) restore_cpu_handler();
  return result;
}

HT_HOOK void heaptape_recorder_profile(unsigned call, unsigned hz) {
  const Frame site = HT_CALL_SITE();
  if (call == kStart) start_cpu_profile(hz, site);
  if (call == kDump) next_cpu_segment(site);
  if (call == kStop) stop_cpu_profile(site);
}
