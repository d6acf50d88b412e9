#include "recorder/check/allocator.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>

#include "recorder/check/fill.h"
#include "recorder/check/gap.h"
#include "recorder/check/guarded_blocks.h"
#include "recorder/check/large_blocks.h"
#include "recorder/check/options.h"
#include "recorder/check/region.h"
#include "recorder/check/report.h"
#include "recorder/check/sampling.h"
#include "recorder/check/small_blocks.h"
#include "recorder/check/sweep.h"
#include "recorder/check/thread_cache.h"
#include "recorder/core/machine.h"

namespace heaptape::recorder {

namespace {

constinit AllocatorBehind g_behind{};
constinit bool g_behind_is_foreign = false;
// Set once a block came from the allocator behind.
constinit std::atomic<bool> g_has_spilled{false};

bool may_be_of_behind() noexcept { return g_behind_is_foreign || g_has_spilled.load(std::memory_order_relaxed); }

void* fail() noexcept {
  errno = ENOMEM;
  return nullptr;
}

[[gnu::noinline, gnu::cold]] void* spill(const Wish& wish) noexcept {
  g_has_spilled.store(true, std::memory_order_relaxed);
  void* const block = wish.log_alignment != 0 ? g_behind.memalign(std::size_t{1} << wish.log_alignment, wish.size)
                                              : g_behind.malloc(wish.size);
  if (block != nullptr && wish.zero) fill_bytes(static_cast<char*>(block), wish.size, 0);
  return block;
}

// The thread has said that it ends, and may go on to release what libc keeps for it.
thread_local constinit bool t_ended [[gnu::tls_model("initial-exec")]] = false;

constinit pthread_key_t g_end_key = 0;
constinit bool g_has_end_key = false;

// Runs for each thread that ends, in several rounds; the last one leaves, so that what other destructors do comes before.
void thread_ends(void* value) noexcept {
  const auto round = reinterpret_cast<std::uintptr_t>(value);
  if (round < PTHREAD_DESTRUCTOR_ITERATIONS)
    (void)pthread_setspecific(g_end_key, reinterpret_cast<void*>(round + 1));
  else
    checked_thread_ends();
}

// How much address space may be taken: what a limit leaves to the program must do for the rest of it.
std::uint64_t most_address_space() noexcept {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  (void)system_call(SYS_prlimit64, 0, RLIMIT_AS, 0, as_long(&limit));
  return limit.rlim_cur == RLIM_INFINITY ? ~std::uint64_t{0} : limit.rlim_cur / 2;
}

// The thread is in here while this lives.
class Inside {
public:
  explicit Inside(ThreadCache& cache) noexcept : cache_(cache) {
    cache_.busy.store(1, std::memory_order_relaxed);
    compiler_barrier();
  }
  ~Inside() noexcept {
    compiler_barrier();
    cache_.busy.store(0, std::memory_order_relaxed);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

private:
  ThreadCache& cache_;
};

bool is_busy(const ThreadCache& cache) noexcept { return cache.busy.load(std::memory_order_relaxed) != 0; }

[[gnu::noinline, gnu::cold]] void* make_nested(const Wish& wish) noexcept {
  void* const block = fits_slot(wish) ? make_small_nested(wish) : nullptr;
  return block != nullptr ? block : spill(wish);
}

[[gnu::always_inline]] inline void* make_with(ThreadCache& cache, const Wish& wish, bool may_grow) noexcept {
  void* block = nullptr;
  {
    const Inside inside(cache);
    if (g_check.guard && is_to_guard(wish)) block = make_guarded(wish);
    if (block == nullptr) block = fits_slot(wish) ? make_small(cache, wish) : make_large(wish, may_grow);
  }
  if (block == nullptr) [[unlikely]]
    return spill(wish);
  return block;
}

ThreadCache* begin_thread() noexcept {
  ThreadCache* const cache = make_cache();
  if (cache != nullptr && g_has_end_key && !t_ended)
    (void)pthread_setspecific(g_end_key, reinterpret_cast<void*>(std::uintptr_t{1}));
  return cache;
}

[[gnu::noinline, gnu::cold]] void* make_first(const Wish& wish, bool may_grow) noexcept {
  ThreadCache* const cache = begin_thread();
  if (cache == nullptr) return spill(wish);
  void* const block = make_with(*cache, wish, may_grow);
  if (t_ended) leave_cache();
  return block;
}

[[gnu::always_inline]] inline void* make(const Wish& wish, bool may_grow = false) noexcept {
  if (wish.size > PTRDIFF_MAX) [[unlikely]]
    return fail();
  ThreadCache* const cache = t_cache;
  if (cache == nullptr) [[unlikely]]
    return make_first(wish, may_grow);
  if (is_busy(*cache)) [[unlikely]]
    return make_nested(wish);
  return make_with(*cache, wish, may_grow);
}

// A live block, or what else the address is.
struct Given {
  Place place;
  BlockFacts facts; // of a small one
  bool is_live = false;
};

[[gnu::always_inline]] inline Given look_up(const void* address) noexcept {
  Given given;
  if (find_slot(address, given.place.slot)) [[likely]] {
    given.place.found = Found::Small;
    given.facts.word = given.place.slot.facts->load(std::memory_order_relaxed);
    given.is_live = given.facts.state() == BlockState::Live && block_in(given.place.slot.begin, given.facts) == address;
    return given;
  }
  given.place = find_place(address);
  if (g_check.guard && given.place.found == Found::Nothing) {
    given.place.guarded = find_guarded(address);
    if (given.place.guarded == nullptr) return given;
    given.place.found = Found::Guarded;
    given.is_live = given.place.guarded->state.load(std::memory_order_relaxed) == BlockState::Live &&
                    given.place.guarded->user == address;
    return given;
  }
  if (given.place.found == Found::Large) {
    given.is_live = given.place.large->state.load(std::memory_order_relaxed) == BlockState::Live &&
                    given.place.large->user == address;
  }
  return given;
}

[[gnu::always_inline]] inline bool are_redzones_whole(const Given& given) noexcept {
  if (given.place.found == Found::Small) [[likely]]
    return are_redzones_whole(given.place.slot, given.facts);
  if (given.place.found == Found::Guarded) return is_slack_whole(*given.place.guarded);
  return are_redzones_whole(*given.place.large, given.place.run);
}
void report_redzones(const Given& given, FoundAt found) noexcept {
  if (given.place.found == Found::Small)
    report_redzones(given.place.slot, given.facts, found);
  else if (given.place.found == Found::Guarded)
    report_slack(*given.place.guarded, found);
  else
    report_redzones(*given.place.large, given.place.run, found);
}

unsigned log_of(std::size_t alignment) noexcept {
  return alignment <= 16 ? 0 : static_cast<unsigned>(std::bit_width(alignment)) - 1;
}
unsigned log_alignment_of(const Given& given) noexcept {
  if (given.place.found == Found::Guarded) return given.place.guarded->log_alignment;
  return given.place.found == Found::Small ? given.facts.log_alignment() : given.place.large->log_alignment;
}
std::uint64_t alignment_of(const Given& given) noexcept {
  const unsigned log = log_alignment_of(given);
  return log != 0 ? std::uint64_t{1} << log : 0;
}

void put(ThreadCache& cache, const Given& given) noexcept {
  if (given.place.found == Found::Small)
    put_small(cache, given.place.slot, given.facts);
  else if (given.place.found == Found::Guarded)
    put_guarded(*given.place.guarded);
  else
    put_large(given.place.run);
}

[[gnu::noinline, gnu::cold]] void put_first(const Given& given) noexcept {
  ThreadCache* const cache = begin_thread();
  if (cache == nullptr) return;
  {
    const Inside inside(*cache);
    put(*cache, given);
  }
  if (t_ended) leave_cache();
}

[[gnu::noinline, gnu::cold]] void put_nested(const Given& given) noexcept {
  if (given.place.found == Found::Small) put_small_nested(given.place.slot, given.facts);
  if (given.place.found == Found::Guarded) put_guarded(*given.place.guarded);
  // A large one stays: its lock may be held below us.
}

std::uint64_t size_of(const Given& given) noexcept {
  if (given.place.found == Found::Guarded) return given.place.guarded->size;
  return given.place.found == Found::Small ? given.facts.size()
                                           : given.place.large->size.load(std::memory_order_relaxed);
}

[[gnu::noinline, gnu::cold]] void* realloc_of_unknown(const Given& given, void* block, std::size_t size) noexcept {
  if (given.place.found == Found::Nothing && !g_region.holds(block) && may_be_of_behind())
    return g_behind.realloc(block, size);
  heed_error();
  return fail();
}

[[gnu::noinline, gnu::cold]] void release_unknown(const Given& given, void* block) noexcept {
  if (given.place.found == Found::Nothing && !g_region.holds(block) && may_be_of_behind()) return g_behind.free(block);
  heed_error();
}

// The thread's clock goes on with small blocks alone.
[[gnu::noinline, gnu::cold]] void sweep_if_due(ThreadCache& cache, const Given& given, std::uint64_t size) noexcept {
  if (given.place.found != Found::Small) cache.swept -= static_cast<std::uint32_t>(size / kClockUnit);
  if (cache.clock - cache.swept < g_check.sweep_bytes / kClockUnit) return;
  cache.swept = cache.clock;
  sweep(FoundAt::Request);
}

// Of an operator delete the alignment that it says.
[[gnu::always_inline]] inline void release(void* block, const std::size_t* alignment) noexcept {
  if (block == nullptr) return;
  const Given given = look_up(block);
  if (!given.is_live) [[unlikely]]
    return release_unknown(given, block);
  if (alignment != nullptr && log_of(*alignment) != log_alignment_of(given)) [[unlikely]]
    report_alignment(static_cast<const char*>(block), size_of(given), alignment_of(given), *alignment);
  if (!are_redzones_whole(given)) [[unlikely]]
    report_redzones(given, FoundAt::Release);
  ThreadCache* const cache = t_cache;
  if (cache == nullptr) [[unlikely]]
    return put_first(given);
  if (is_busy(*cache)) [[unlikely]]
    return put_nested(given);
  const std::uint64_t size = g_check.sweep_bytes != 0 ? size_of(given) : 0;
  {
    const Inside inside(*cache);
    put(*cache, given);
  }
  if (g_check.sweep_bytes != 0) [[unlikely]]
    sweep_if_due(*cache, given, size);
}

void before_fork() noexcept {
  lock_caches();
  lock_guarded();
  lock_large();
  lock_small();
}
void after_fork() noexcept {
  unlock_small();
  unlock_large();
  unlock_guarded();
  unlock_caches();
}

} // namespace

bool start_checks(const AllocatorBehind& behind, bool behind_is_foreign) noexcept {
  g_behind = behind;
  g_behind_is_foreign = behind_is_foreign;
  if (!open_region(most_address_space())) {
    g_check.on = false;
    return false;
  }
  if (g_check.guard && !open_guarded(most_address_space() / 2)) g_check.guard = false;
  return true;
}

void arrange_checks() noexcept {
  (void)pthread_atfork(before_fork, after_fork, after_fork);
  g_has_end_key = pthread_key_create(&g_end_key, thread_ends) == 0;
}

void* checked_malloc(std::size_t size) noexcept { return make({size, 0, false}); }

void* checked_calloc(std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return fail();
  return make({bytes, 0, true});
}

void checked_free(void* block) noexcept { release(block, nullptr); }
void checked_delete(void* block, std::size_t alignment) noexcept {
  if (g_check.sample_every != 0) return sampled_free(block);
  release(block, &alignment);
}

void* checked_realloc(void* block, std::size_t size) noexcept {
  if (block == nullptr) return make({size, 0, false});
  const Given given = look_up(block);
  if (!given.is_live) [[unlikely]]
    return realloc_of_unknown(given, block, size);
  if (size == 0) {
    checked_free(block);
    return nullptr;
  }
  if (size > PTRDIFF_MAX) return fail();
  if (!are_redzones_whole(given)) report_redzones(given, FoundAt::Realloc);
  const bool resized = given.place.found == Found::Guarded ? false
                       : given.place.found == Found::Small ? resize_small(given.place.slot, given.facts, size)
                                                           : resize_large(given.place.run, size);
  if (resized) return block;
  const std::uint64_t old_size = size_of(given);
  void* const moved = make({size, 0, false}, size > old_size);
  if (moved == nullptr) return nullptr;
  copy_bytes(static_cast<char*>(moved), static_cast<const char*>(block), old_size < size ? old_size : size);
  checked_free(block);
  return moved;
}

void* checked_memalign(std::size_t alignment, std::size_t size) noexcept {
  if (alignment > SIZE_MAX / 2 + 1) {
    errno = EINVAL;
    return nullptr;
  }
  return make({size, log_of(std::bit_ceil(alignment)), false});
}

int checked_posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
  if (alignment % sizeof(void*) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  const int before = errno;
  void* const made = make({size, log_of(alignment), false});
  errno = before;
  if (made == nullptr) return ENOMEM;
  *block = made;
  return 0;
}

void* checked_valloc(std::size_t size) noexcept { return checked_memalign(4096, size); }
void* checked_pvalloc(std::size_t size) noexcept {
  if (size > PTRDIFF_MAX) return fail();
  return checked_memalign(4096, (size + 4095) & ~std::size_t{4095});
}

std::size_t checked_usable_size(void* block) noexcept {
  if (block == nullptr) return 0;
  const Given given = look_up(block);
  if (given.is_live) return size_of(given);
  return !g_region.holds(block) && may_be_of_behind() && g_behind.usable_size != nullptr ? g_behind.usable_size(block)
                                                                                         : 0;
}

std::uint64_t checked_address_space() noexcept { return g_region.bytes + guarded_bytes(); }

void checked_thread_ends() noexcept {
  t_ended = true;
  leave_cache();
}

void check_all_blocks(FoundAt found) noexcept {
  if (g_check.on) sweep(found);
}

} // namespace heaptape::recorder
