#include "recorder/check/thread_cache.h"

#include "recorder/check/options.h"
#include "recorder/check/region.h"
#include "recorder/check/spin_lock.h"

namespace heaptape::recorder {

thread_local constinit ThreadCache* t_cache [[gnu::tls_model("initial-exec")]] = nullptr;
constinit std::atomic<std::uint32_t> g_quarantine_units{(1 << 20) / kClockUnit};

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

constinit SpinLock g_lock;
constinit ThreadCache* g_left = nullptr;
constinit std::atomic<std::uint32_t> g_caches{0}; // that threads have
constinit std::atomic<std::uint64_t> g_heap_bytes{0};

// What lies in quarantine costs a program the cache of its processor, so a small heap has a small one: an eighth of it, from
// 1 to 8 MiB, then a twentieth.
std::uint64_t wanted_quarantine() noexcept {
  if (g_check.quarantine_bytes != 0) return g_check.quarantine_bytes;
  if (g_check.full) return 256 * kMiB;
  const std::uint64_t heap = g_heap_bytes.load(std::memory_order_relaxed);
  if (heap < 8 * kMiB) return kMiB;
  if (heap < 64 * kMiB) return heap / 8;
  return heap / 20 > 8 * kMiB ? heap / 20 : 8 * kMiB;
}

void set_quarantine() noexcept {
  constexpr std::uint64_t kLeast = 256 * 1024, kMost = std::uint64_t{64} << 30; // ages are compared in 32 bits
  const std::uint64_t caches = g_caches.load(std::memory_order_relaxed);
  std::uint64_t share = wanted_quarantine() / (caches != 0 ? caches : 1);
  if (share < kLeast && g_check.quarantine_bytes == 0) share = kLeast;
  if (share > kMost) share = kMost;
  g_quarantine_units.store(static_cast<std::uint32_t>(share / kClockUnit), std::memory_order_relaxed);
}

} // namespace

std::uint64_t quarantine_bytes() noexcept { return wanted_quarantine(); }

void note_heap_bytes(std::uint64_t bytes) noexcept {
  g_heap_bytes.fetch_add(bytes, std::memory_order_relaxed);
  set_quarantine();
}

ThreadCache* make_cache() noexcept {
  ThreadCache* cache = nullptr;
  {
    const Locked locked(g_lock);
    cache = g_left;
    if (cache != nullptr) g_left = cache->next;
  }
  if (cache == nullptr) cache = static_cast<ThreadCache*>(map_own_memory(sizeof(ThreadCache)));
  if (cache == nullptr) return nullptr;
  cache->busy.store(0, std::memory_order_relaxed);
  t_cache = cache;
  g_caches.fetch_add(1, std::memory_order_relaxed);
  set_quarantine();
  return cache;
}

void leave_cache() noexcept {
  ThreadCache* const cache = t_cache;
  if (cache == nullptr) return;
  t_cache = nullptr;
  g_caches.fetch_sub(1, std::memory_order_relaxed);
  set_quarantine();
  const Locked locked(g_lock);
  cache->next = g_left;
  g_left = cache;
}

void lock_caches() noexcept { g_lock.lock(); }
void unlock_caches() noexcept { g_lock.unlock(); }

} // namespace heaptape::recorder
