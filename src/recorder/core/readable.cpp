#include "recorder/core/readable.h"

#include <sys/syscall.h>

#include <atomic>

#include "recorder/core/machine.h"

namespace heaptape::recorder {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMostProbed = std::uint64_t{64} << 20; // farther away is another stack, not a deeper one
constexpr long kEfault = -14;

constinit std::atomic<bool> g_sandboxed{false};

constexpr std::uint64_t page_of(std::uint64_t address) { return address & ~(kPage - 1); }

} // namespace

void enter_sandbox() noexcept { g_sandboxed.store(true, std::memory_order_relaxed); }

bool in_sandbox() noexcept { return g_sandboxed.load(std::memory_order_relaxed); }

bool page_is_readable(std::uint64_t address) noexcept {
  if (in_sandbox() || address < kPage) return false;
  // The kernel copies the new mask in before it looks at `how`, so an impossible `how` makes this a pure read test.
  constexpr long kNoSuchHow = -1;
  const long word = static_cast<long>(address & ~std::uint64_t{7});
  return system_call(SYS_rt_sigprocmask, kNoSuchHow, word, 0, 8) != kEfault;
}

void StackMemory::start(std::uint64_t top, std::uint64_t reach) noexcept {
  own_ = {top, top};
  other_ = {};
  reach_ = reach;
}

bool StackMemory::extend_own_down(std::uint64_t slot) noexcept {
  const std::uint64_t target = page_of(slot);
  if (slot >= own_.high || own_.low - target > kMostProbed) return false;
  if (in_sandbox()) {
    if (own_.high - slot > reach_) return false;
  } else {
    for (std::uint64_t page = page_of(own_.low - 1); page > target; page -= kPage) {
      if (!page_is_readable(page)) return false;
    }
  }
  own_.low = target;
  return true;
}

Range& StackMemory::around(std::uint64_t slot) noexcept {
  if (own_.holds(slot) || extend_own_down(slot)) return own_;
  // Never trusted for longer than one visit: the stack may be gone when the thread comes by again.
  other_ = {page_of(slot), page_of(slot) + kPage};
  return other_;
}

bool StackMemory::extend_up(Range& range, std::uint64_t address) noexcept {
  if (&range == &own_ || address < range.low) return range.holds(address);
  if (address - range.high > kMostProbed) return false;
  while (range.high <= address) {
    if (!page_is_readable(range.high)) return false;
    range.high += kPage;
  }
  return true;
}

} // namespace heaptape::recorder
