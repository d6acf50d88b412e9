// What the hooks have in common that ask the collector something through shared memory and sleep until it has answered: system calls only, no
// lock and no memory of libc's, so the thread may have been stopped anywhere.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "recorder/core/machine.h"
#include "recorder/core/readable.h"
#include "wire/layout.h"

namespace heaptape::recorder {

inline constexpr long kOneWait = 100'000'000; // ns

// Until `word` is no longer `seen`, but not for long. A program in a sandbox may make no system calls: it looks again soon.
inline void wait_a_moment(std::atomic<std::uint32_t>& word, std::uint32_t seen) noexcept {
  constexpr int kLooks = 100'000;
  if (in_sandbox()) {
    for (int i = 0; i < kLooks && word.load(std::memory_order_acquire) == seen; ++i) pause();
    return;
  }
  timespec most{0, kOneWait};
  (void)system_call(SYS_futex, as_long(&word), FUTEX_WAIT, static_cast<long>(seen), as_long(&most));
}

inline void wake_all(std::atomic<std::uint32_t>& word) noexcept {
  constexpr long kAll = 1 << 30;
  if (!in_sandbox()) (void)system_call(SYS_futex, as_long(&word), FUTEX_WAKE, kAll);
}

// There is a question for the collector: it looks at once. In a sandbox it looks when its time comes, which is soon.
inline void wake_for_question(wire::Header& header) noexcept {
  header.wake.fetch_add(1, std::memory_order_release);
  if (!in_sandbox()) (void)system_call(SYS_futex, as_long(&header.wake), FUTEX_WAKE, 1);
}

} // namespace heaptape::recorder
