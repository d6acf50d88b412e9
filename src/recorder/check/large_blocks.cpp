#include "recorder/check/large_blocks.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/check/fill.h"
#include "recorder/check/gap.h"
#include "recorder/check/report.h"
#include "recorder/check/thread_cache.h"
#include "recorder/core/machine.h"

namespace heaptape::recorder {

namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint32_t kShortRuns = 64; // chunks; free runs of at most this many have a list for each length
constexpr std::uint32_t kMostQuarantined = 4096;
constexpr std::uint32_t kMostLooks = 256;                    // at free long runs
constexpr std::uint64_t kMostWarm = std::uint64_t{32} << 20; // bytes of free runs that keep their memory

struct RunList {
  std::uint32_t first, last; // chunks; 0: empty
};

constinit SpinLock g_lock;
constinit std::uint32_t g_next_run = 0;     // chunk; 0: none was taken yet
constinit RunList g_free[kShortRuns + 1]{}; // by length; [0]: the longer ones
constinit RunList g_quarantine{};
constinit std::uint32_t g_quarantined = 0;
constinit std::uint64_t g_quarantined_bytes = 0;
constinit std::uint64_t g_warm_bytes = 0;

LargeBlock& block_of(std::uint32_t run) noexcept { return *g_region.chunks[run].large; }

void append(RunList& list, std::uint32_t run) noexcept {
  block_of(run).next = 0;
  if (list.first == 0)
    list.first = run;
  else
    block_of(list.last).next = run;
  list.last = run;
}
// `before` is the run in front of it; 0: it is the first.
void remove(RunList& list, std::uint32_t before, std::uint32_t run) noexcept {
  const std::uint32_t next = block_of(run).next;
  (before == 0 ? list.first : block_of(before).next) = next;
  if (list.last == run) list.last = before;
}

std::uint32_t take_free(std::uint32_t chunks) noexcept {
  RunList& list = g_free[chunks <= kShortRuns ? chunks : 0];
  std::uint32_t before = 0, looks = 0;
  for (std::uint32_t run = list.first; run != 0 && looks < kMostLooks; run = block_of(run).next, ++looks) {
    if (block_of(run).chunks >= chunks && block_of(run).chunks / 2 <= chunks) {
      remove(list, before, run);
      if (block_of(run).dirty) g_warm_bytes -= block_of(run).accessible;
      return run;
    }
    before = run;
  }
  return 0;
}

std::uint32_t take_new(std::uint32_t chunks) noexcept {
  if (g_next_run == 0) g_next_run = first_run();
  if (chunks > g_region.all_chunks() - g_next_run) return 0;
  LargeBlock* block = nullptr;
  {
    const Locked own(g_region_lock);
    block = static_cast<LargeBlock*>(take_own_memory(sizeof(LargeBlock)));
  }
  if (block == nullptr) return 0;
  const std::uint32_t run = g_next_run;
  g_next_run += chunks;
  block->chunks = chunks;
  g_region.chunks[run].large = block;
  for (std::uint32_t i = 1; i < chunks; ++i) {
    g_region.chunks[run + i].run_begin = run;
    g_region.chunks[run + i].use.store(kRunRest, std::memory_order_release); // pairs with find_place()
  }
  g_region.chunks[run].use.store(kRunBegin, std::memory_order_release);
  return run;
}

// Where the page ends that the redzone of a block goes to, counted from the run's begin.
std::uint64_t redzone_end(std::uint32_t run, const char* user, std::uint64_t size) noexcept {
  const auto end = static_cast<std::uint64_t>(user + size - g_region.chunk_at(run)) + kRedzone;
  return (end + kPageBytes - 1) & ~(kPageBytes - 1);
}

// The first `bytes` of the run are the program's to touch. False: the kernel has no memory, or no more mappings.
bool open_run(LargeBlock& block, std::uint32_t run, std::uint64_t bytes) noexcept {
  if (bytes <= block.accessible) return true;
  const long result = system_call(SYS_mprotect, as_long(g_region.chunk_at(run)) + static_cast<long>(block.accessible),
                                  static_cast<long>(bytes - block.accessible), PROT_READ | PROT_WRITE);
  if (result == 0) block.accessible = bytes;
  return result == 0;
}

// Memory that the program has locked stays as it is.
void make_clean(LargeBlock& block, std::uint32_t run, std::uint64_t warm) noexcept {
  if (system_call(SYS_madvise, as_long(g_region.chunk_at(run)), static_cast<long>(block.accessible), MADV_DONTNEED) ==
      0)
    return;
  block.dirty = true;
  g_warm_bytes = warm;
}

void give_back(std::uint32_t run) noexcept {
  LargeBlock& block = block_of(run);
  block.state.store(BlockState::Changing, std::memory_order_relaxed);
  compiler_barrier();
  const std::uint64_t warm = g_warm_bytes + block.accessible;
  block.dirty = block.chunks <= kShortRuns && warm <= kMostWarm;
  if (block.dirty)
    g_warm_bytes = warm;
  else
    make_clean(block, run, warm);
  block.state.store(BlockState::Fresh, std::memory_order_release);
  append(g_free[block.chunks <= kShortRuns ? block.chunks : 0], run);
}

// The longest in quarantine leaves it. 0: it may stay.
std::uint32_t leave_quarantine() noexcept {
  if (g_quarantined < 2 || (g_quarantined_bytes <= quarantine_bytes() && g_quarantined <= kMostQuarantined)) return 0;
  const std::uint32_t run = g_quarantine.first;
  remove(g_quarantine, 0, run);
  --g_quarantined;
  g_quarantined_bytes -= block_of(run).size.load(std::memory_order_relaxed);
  return run;
}

} // namespace

char* make_large(const Wish& wish, bool may_grow) noexcept {
  const std::uint64_t alignment = wish.log_alignment != 0 ? std::uint64_t{1} << wish.log_alignment : 16;
  constexpr std::uint64_t kMostGrowth = std::uint64_t{16} << 30;
  if (wish.size > g_region.bytes || alignment > g_region.bytes) return nullptr;
  // Chunks begin at whole MiB; a wider alignment needs room to find its place.
  const std::uint64_t before = alignment <= kChunkHead ? kChunkHead : alignment;
  const std::uint64_t needed = before + wish.size + kRedzone;
  const std::uint64_t room = may_grow && wish.size < kMostGrowth ? needed + wish.size : needed;
  const auto chunks = static_cast<std::uint32_t>((room + kChunkBytes - 1) / kChunkBytes);
  std::uint32_t run = 0;
  {
    const Locked locked(g_lock);
    run = take_free(chunks);
    if (run == 0) run = take_new(chunks);
    if (run == 0) return nullptr;
  }
  LargeBlock& block = block_of(run);
  const auto begin = reinterpret_cast<std::uint64_t>(g_region.chunk_at(run));
  auto* const user = reinterpret_cast<char*>((begin + kChunkHead + alignment - 1) & ~(alignment - 1));
  const std::uint64_t end = redzone_end(run, user, wish.size);
  if (!open_run(block, run, end)) {
    const Locked locked(g_lock);
    give_back(run);
    return nullptr;
  }
  fill_bytes(reinterpret_cast<char*>(begin), static_cast<std::uint64_t>(user - reinterpret_cast<char*>(begin)),
             kRedzoneByte);
  if (wish.zero) {
    if (block.dirty) fill_bytes(user, wish.size, 0);
  } else if (g_check.fill) {
    fill_block(user, wish.size, g_check.fresh_byte);
  }
  fill_bytes(user + wish.size, static_cast<std::uint64_t>(reinterpret_cast<char*>(begin) + end - (user + wish.size)),
             kRedzoneByte);
  block.user = user;
  block.zone_end = end;
  block.log_alignment = static_cast<std::uint8_t>(wish.log_alignment);
  block.dirty = true;
  block.size.store(wish.size, std::memory_order_relaxed);
  block.state.store(BlockState::Live, std::memory_order_release); // pairs with the sweep
  note_heap_bytes(wish.size);
  return user;
}

void put_large(std::uint32_t run) noexcept {
  LargeBlock& block = block_of(run);
  const std::uint64_t size = block.size.load(std::memory_order_relaxed);
  block.state.store(BlockState::Changing, std::memory_order_relaxed);
  compiler_barrier();
  fill_block(block.user, size, g_check.released_byte);
  compiler_barrier();
  block.state.store(BlockState::Released, std::memory_order_release);
  note_heap_bytes(std::uint64_t{0} - size);
  {
    const Locked locked(g_lock);
    append(g_quarantine, run);
    ++g_quarantined;
    g_quarantined_bytes += size;
  }
  while (true) {
    std::uint32_t old = 0;
    {
      const Locked locked(g_lock);
      old = leave_quarantine();
    }
    if (old == 0) return;
    LargeBlock& oldest = block_of(old);
    const std::uint64_t bytes = oldest.size.load(std::memory_order_relaxed);
    if (!is_block_filled(oldest.user, bytes, g_check.released_byte))
      report_released(oldest.user, bytes, FoundAt::Reuse);
    const Locked locked(g_lock);
    give_back(old);
  }
}

bool resize_large(std::uint32_t run, std::uint64_t size) noexcept {
  LargeBlock& block = block_of(run);
  const std::uint64_t old_size = block.size.load(std::memory_order_relaxed);
  if (size < old_size / 2 || size <= kLargestSlot || size > g_region.bytes) return false;
  const std::uint64_t end = redzone_end(run, block.user, size);
  if (end > block.chunks * kChunkBytes || !open_run(block, run, end)) return false;
  block.state.store(BlockState::Changing, std::memory_order_relaxed);
  compiler_barrier();
  char* const begin = g_region.chunk_at(run);
  // What was redzone must not look like one any more. What a smaller block leaves is redzone from here on.
  const std::uint64_t zone_end = end > block.zone_end ? end : block.zone_end;
  char* const old_behind = block.user + old_size;
  if (size > old_size) {
    const auto zone = static_cast<std::uint64_t>(begin + block.zone_end - old_behind);
    const std::uint64_t more = size - old_size;
    fill_bytes(old_behind, zone < more ? zone : more, g_check.fill ? g_check.fresh_byte : std::uint8_t{0});
  }
  fill_bytes(block.user + size, static_cast<std::uint64_t>(begin + zone_end - (block.user + size)), kRedzoneByte);
  block.zone_end = zone_end;
  compiler_barrier();
  block.size.store(size, std::memory_order_relaxed);
  block.state.store(BlockState::Live, std::memory_order_release);
  note_heap_bytes(size - old_size);
  return true;
}

bool are_redzones_whole(const LargeBlock& block, std::uint32_t run) noexcept {
  const char* const begin = g_region.chunk_at(run);
  const std::uint64_t size = block.size.load(std::memory_order_relaxed);
  const bool released = block.state.load(std::memory_order_relaxed) == BlockState::Released;
  const char* const from = block.user + (released ? (size + 15) & ~std::uint64_t{15} : size);
  const char* const end = begin + block.zone_end;
  return is_filled(begin, static_cast<std::uint64_t>(block.user - begin), kRedzoneByte) &&
         is_filled(from, static_cast<std::uint64_t>(end - from), kRedzoneByte);
}

void report_redzones(const LargeBlock& block, std::uint32_t run, FoundAt found) noexcept {
  char* const begin = g_region.chunk_at(run);
  const std::uint64_t size = block.size.load(std::memory_order_relaxed);
  const bool released = block.state.load(std::memory_order_relaxed) == BlockState::Released;
  report_damage(ErrorSort::WriteBefore, found, begin, block.user, kRedzoneByte, block.user, size);
  report_damage(ErrorSort::WriteBehind, found, block.user + (released ? (size + 15) & ~std::uint64_t{15} : size),
                begin + block.zone_end, kRedzoneByte, block.user, size);
}

std::uint32_t first_run() noexcept { return g_region.small_chunks(); }
std::uint32_t end_of_runs() noexcept { return g_next_run == 0 ? first_run() : g_next_run; }

void lock_large() noexcept { g_lock.lock(); }
void unlock_large() noexcept { g_lock.unlock(); }

} // namespace heaptape::recorder
