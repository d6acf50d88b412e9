// A lock for a few instructions at a time. Held by a thread that was interrupted, it stays held: a signal handler only tries.
#pragma once

#include <sys/syscall.h>

#include <atomic>
#include <cstdint>

#include "recorder/core/machine.h"

namespace heaptape::recorder {

class SpinLock {
public:
  bool try_lock() noexcept { return word_.exchange(1, std::memory_order_acquire) == 0; } // pairs with unlock()
  void lock() noexcept {
    constexpr int kSpins = 64;
    while (!try_lock()) {
      for (int i = 0; word_.load(std::memory_order_relaxed) != 0; ++i) {
        if (i < kSpins)
          pause();
        else
          (void)system_call(SYS_sched_yield);
      }
    }
  }
  void unlock() noexcept { word_.store(0, std::memory_order_release); }

private:
  std::atomic<std::uint32_t> word_{0};
};

class Locked {
public:
  explicit Locked(SpinLock& lock) noexcept : lock_(lock) { lock_.lock(); }
  ~Locked() noexcept { lock_.unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

private:
  SpinLock& lock_;
};

} // namespace heaptape::recorder
