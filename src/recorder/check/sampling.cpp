#include "recorder/check/sampling.h"

#include <time.h>

#include <atomic>

#include "recorder/check/guarded_blocks.h"
#include "recorder/check/options.h"
#include "recorder/check/pattern.h"
#include "recorder/check/program_site.h"
#include "recorder/check/report.h"
#include "recorder/core/events.h"
#include "recorder/core/machine.h"
#include "recorder/core/recorder.h"

namespace heaptape::recorder {

namespace {

constexpr std::uint64_t kAddressSpace = std::uint64_t{64}
                                        << 20; // its page tables and its blocks are what sampling takes
constexpr std::uint64_t kGapNs = 500'000;
constexpr std::uint32_t kMostLive = 1024;
constexpr std::uint64_t kLargest = 64 * 1024;

constinit AllocatorBehind g_behind{};
constinit std::atomic<std::uint64_t> g_last_ns{0};
constinit std::atomic<std::uint32_t> g_live{0};
thread_local constinit std::int32_t t_countdown [[gnu::tls_model("initial-exec")]] = 0;
thread_local constinit std::uint64_t t_random [[gnu::tls_model("initial-exec")]] = 0;

std::int32_t next_countdown() noexcept {
  if (t_random == 0) t_random = read_tsc() | 1;
  t_random ^= t_random << 13;
  t_random ^= t_random >> 7;
  t_random ^= t_random << 17;
  return static_cast<std::int32_t>(t_random % (std::uint64_t{2} * g_check.sample_every - 1)); // as often on the whole
}

bool is_time() noexcept {
  timespec now{};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  const std::uint64_t ns =
      static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
  std::uint64_t last = g_last_ns.load(std::memory_order_relaxed);
  return ns - last >= kGapNs && g_last_ns.compare_exchange_strong(last, ns, std::memory_order_relaxed);
}

// Null: not this one.
[[gnu::noinline, gnu::cold]] void* sample(EventKind kind, std::uint64_t size, bool zero) noexcept {
  t_countdown = next_countdown();
  if (size > kLargest || !is_attached() || g_live.load(std::memory_order_relaxed) >= kMostLive || !is_time())
    return nullptr;
  char* const block = make_guarded({size, 0, zero});
  if (block == nullptr) return nullptr;
  g_live.fetch_add(1, std::memory_order_relaxed);
  (void)record(kind, reinterpret_cast<std::uint64_t>(block), size, program_site(), true);
  return block;
}

[[gnu::noinline, gnu::cold]] void release_sampled(GuardedBlock& guarded, void* block) noexcept {
  if (is_attached()) (void)record(EventKind::Free, reinterpret_cast<std::uint64_t>(block), 0, program_site(), true);
  if (guarded.state.load(std::memory_order_relaxed) != BlockState::Live || guarded.user != block) return heed_error();
  if (!is_slack_whole(guarded)) report_slack(guarded, FoundAt::Release);
  g_live.fetch_sub(1, std::memory_order_relaxed);
  put_guarded(guarded);
}

} // namespace

bool start_sampling(const AllocatorBehind& behind) noexcept {
  g_behind = behind;
  return open_guarded(kAddressSpace);
}

void* sampled_malloc(std::size_t size) noexcept {
  if (--t_countdown >= 0) [[likely]]
    return g_behind.malloc(size);
  void* const block = sample(EventKind::Malloc, size, false);
  return block != nullptr ? block : g_behind.malloc(size);
}

void* sampled_calloc(std::size_t count, std::size_t size) noexcept {
  if (--t_countdown >= 0) [[likely]]
    return g_behind.calloc(count, size);
  std::size_t bytes = 0;
  void* const block = __builtin_mul_overflow(count, size, &bytes) ? nullptr : sample(EventKind::Calloc, bytes, true);
  return block != nullptr ? block : g_behind.calloc(count, size);
}

void sampled_free(void* block) noexcept {
  GuardedBlock* const guarded = find_guarded(block);
  if (guarded == nullptr) [[likely]]
    return g_behind.free(block);
  release_sampled(*guarded, block);
}

void* sampled_realloc(void* block, std::size_t size) noexcept {
  const GuardedBlock* const guarded = find_guarded(block);
  if (guarded == nullptr) [[likely]]
    return block == nullptr ? sampled_malloc(size) : g_behind.realloc(block, size);
  if (guarded->state.load(std::memory_order_relaxed) != BlockState::Live || guarded->user != block || size == 0) {
    sampled_free(block); // it says what is wrong
    return nullptr;
  }
  const std::uint64_t old_size = guarded->size;
  void* const moved = g_behind.malloc(size);
  if (moved == nullptr) return nullptr;
  copy_bytes(static_cast<char*>(moved), static_cast<const char*>(block), old_size < size ? old_size : size);
  sampled_free(block);
  return moved;
}

std::size_t sampled_usable_size(void* block) noexcept {
  const GuardedBlock* const guarded = find_guarded(block);
  if (guarded != nullptr) return guarded->user == block ? guarded->size : 0;
  return g_behind.usable_size != nullptr ? g_behind.usable_size(block) : 0;
}

bool explain_fault(std::uint64_t address, bool writes, wire::MemoryError& error) noexcept {
  GuardedBlock* const block = open_fault(reinterpret_cast<void*>(address));
  if (block == nullptr) return false;
  const bool released = block->state.load(std::memory_order_relaxed) == BlockState::Released;
  error = {};
  if (released)
    error.sort = writes ? ErrorSort::WriteIntoFreed : ErrorSort::ReadFreed;
  else
    error.sort = writes ? ErrorSort::WriteOutside : ErrorSort::ReadOutside;
  error.found = FoundAt::Access;
  error.address = address;
  error.block = reinterpret_cast<std::uint64_t>(block->user);
  error.block_size = block->size;
  return true;
}

} // namespace heaptape::recorder
