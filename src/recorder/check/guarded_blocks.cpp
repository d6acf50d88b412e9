#include "recorder/check/guarded_blocks.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/check/options.h"
#include "recorder/check/pattern.h"
#include "recorder/check/report.h"
#include "recorder/core/machine.h"

namespace heaptape::recorder {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 30;
constexpr std::uint64_t kLeastBytes = std::uint64_t{16} << 20;
constexpr std::uint32_t kShort = 16;           // pages; blocks of at most this many have a list for each number
constexpr std::uint32_t kKeptPages = 1U << 20; // of released blocks in each list, before the first is used again
constexpr int kGuardInstall = 102, kGuardRemove = 103;

struct Released {
  GuardedBlock *first, *last;
  std::uint32_t count;
};

struct Guarded {
  char* base = nullptr;
  std::uint64_t bytes = 0;
  GuardedBlock** blocks = nullptr; // by page
  bool has_guards = false;         // the kernel's, else mprotect
  std::atomic<std::uint32_t> next_page{1};
  Released released[kShort + 1]{};
  std::uint64_t random = 0x9e3779b97f4a7c15;
};
constinit Guarded g_guarded{};
constinit SpinLock g_lock;

// Another thread's turn is short; one that was interrupted by a signal handler, ours, never ends.
bool lock_patiently() noexcept {
  constexpr int kTries = 1000;
  for (int tries = 0; !g_lock.try_lock(); ++tries) {
    if (tries == kTries) return false;
    (void)system_call(SYS_sched_yield);
  }
  return true;
}

char* page_at(std::uint32_t page) noexcept { return g_guarded.base + page * kPage; }

bool guard_pages(std::uint32_t first, std::uint32_t count) noexcept {
  const long at = as_long(page_at(first)), bytes = static_cast<long>(count * kPage);
  if (g_guarded.has_guards && system_call(SYS_madvise, at, bytes, kGuardInstall) == 0) return true;
  // Locked memory takes no guards. What it holds goes all the same.
  (void)system_call(SYS_madvise, at, bytes, MADV_DONTNEED);
  return system_call(SYS_mprotect, at, bytes, PROT_NONE) == 0;
}

bool open_pages(std::uint32_t first, std::uint32_t count, bool were_guards) noexcept {
  const long at = as_long(page_at(first)), bytes = static_cast<long>(count * kPage);
  if (!g_guarded.has_guards) return system_call(SYS_mprotect, at, bytes, PROT_READ | PROT_WRITE) == 0;
  if (!were_guards) return true;
  return system_call(SYS_madvise, at, bytes, kGuardRemove) == 0 &&
         system_call(SYS_mprotect, at, bytes, PROT_READ | PROT_WRITE) == 0;
}

// Under the lock. Null: none is old enough.
GuardedBlock* take_released(std::uint32_t pages) noexcept {
  if (pages > kShort) return nullptr;
  Released& list = g_guarded.released[pages];
  const bool is_full = std::uint64_t{g_guarded.next_page} + pages + 1 > g_guarded.bytes / kPage;
  if (list.first == nullptr || (!is_full && list.count <= kKeptPages / pages)) return nullptr;
  GuardedBlock* const block = list.first;
  list.first = block->next;
  if (list.first == nullptr) list.last = nullptr;
  --list.count;
  return block;
}

// Under the lock. Null: no room.
GuardedBlock* take_fresh(std::uint32_t pages) noexcept {
  const std::uint32_t first = g_guarded.next_page.load(std::memory_order_relaxed);
  if (std::uint64_t{first} + pages + 1 > g_guarded.bytes / kPage) return nullptr;
  if (!g_region_lock.try_lock()) return nullptr;
  auto* const block = static_cast<GuardedBlock*>(take_own_memory(sizeof(GuardedBlock)));
  g_region_lock.unlock();
  if (block == nullptr) return nullptr;
  block->first_page = first;
  block->pages = pages;
  for (std::uint32_t i = 0; i < pages; ++i) g_guarded.blocks[first + i] = block;
  g_guarded.next_page.store(first + pages + 1, std::memory_order_release);
  return block;
}

bool is_at_begin() noexcept {
  if (g_check.guard_side != GuardSide::Random) return g_check.guard_side == GuardSide::Left;
  g_guarded.random ^= g_guarded.random << 13;
  g_guarded.random ^= g_guarded.random >> 7;
  g_guarded.random ^= g_guarded.random << 17;
  return (g_guarded.random & 1) != 0;
}

// Enough for what a block of this size may hold, so that its end is near the guard.
std::uint64_t natural_alignment(std::uint64_t size) noexcept {
  std::uint64_t alignment = g_check.guard_alignment;
  while (alignment > 1 && alignment > size) alignment /= 2;
  return alignment;
}

char* begin_of(const GuardedBlock& block) noexcept { return page_at(block.first_page); }
char* end_of(const GuardedBlock& block) noexcept { return page_at(block.first_page + block.pages); }

} // namespace

bool open_guarded(std::uint64_t most) noexcept {
  for (std::uint64_t bytes = kMostBytes; bytes >= kLeastBytes; bytes /= 2) {
    if (bytes > most) continue;
    for (const int protection : {PROT_READ | PROT_WRITE, PROT_NONE}) {
      const long memory = system_call(SYS_mmap, 0, static_cast<long>(bytes), protection,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory < 0 && memory > -4096) continue;
      if (protection != PROT_NONE && system_call(SYS_madvise, memory, kPage, kGuardInstall) != 0) {
        (void)system_call(SYS_munmap, memory, static_cast<long>(bytes));
        continue;
      }
      g_guarded.blocks = static_cast<GuardedBlock**>(map_own_memory(bytes / kPage * sizeof(GuardedBlock*)));
      if (g_guarded.blocks == nullptr) {
        (void)system_call(SYS_munmap, memory, static_cast<long>(bytes));
        continue;
      }
      g_guarded.base = reinterpret_cast<char*>(memory);
      g_guarded.bytes = bytes;
      g_guarded.has_guards = protection != PROT_NONE;
      return true;
    }
  }
  return false;
}

std::uint64_t guarded_bytes() noexcept { return g_guarded.bytes; }

bool is_to_guard(const Wish& wish) noexcept {
  return g_guarded.base != nullptr && wish.size >= g_check.guard_from && wish.size <= g_check.guard_to &&
         wish.log_alignment <= 12;
}

char* make_guarded(const Wish& wish) noexcept {
  const std::uint64_t bytes = wish.size != 0 ? wish.size : 1;
  const std::uint64_t all = (bytes + kPage - 1) / kPage;
  if (all > g_guarded.bytes / kPage) return nullptr;
  const auto pages = static_cast<std::uint32_t>(all);
  if (!lock_patiently()) return nullptr;
  GuardedBlock* block = take_released(pages);
  const bool was_used = block != nullptr;
  if (block == nullptr) block = take_fresh(pages);
  const bool at_begin = is_at_begin();
  g_lock.unlock();
  if (block == nullptr) return nullptr;
  const bool needs_guard = !was_used || block->was_hit;
  if (!open_pages(block->first_page, pages, was_used) || (needs_guard && !guard_pages(block->first_page + pages, 1)))
    return nullptr; // its pages are lost
  block->was_hit = false;
  const std::uint64_t alignment =
      wish.log_alignment != 0 ? std::uint64_t{1} << wish.log_alignment : natural_alignment(bytes);
  char* const begin = begin_of(*block);
  char* const end = end_of(*block);
  char* const user =
      at_begin ? begin : reinterpret_cast<char*>((reinterpret_cast<std::uint64_t>(end) - wish.size) & ~(alignment - 1));
  fill_bytes(begin, static_cast<std::uint64_t>(user - begin), kRedzoneByte);
  if (!wish.zero && g_check.fill) fill_bytes(user, wish.size, g_check.fresh_byte);
  fill_bytes(user + wish.size, static_cast<std::uint64_t>(end - user) - wish.size, kRedzoneByte);
  block->user = user;
  block->size = wish.size;
  block->log_alignment = static_cast<std::uint8_t>(wish.log_alignment);
  block->next = nullptr;
  block->state.store(BlockState::Live, std::memory_order_release); // pairs with the sweep
  return user;
}

void put_guarded(GuardedBlock& block) noexcept {
  block.state.store(BlockState::Released, std::memory_order_release);
  if (!lock_patiently()) return; // never used again
  (void)guard_pages(block.first_page, block.pages);
  if (block.pages <= kShort) {
    Released& list = g_guarded.released[block.pages];
    (list.last != nullptr ? list.last->next : list.first) = &block;
    list.last = &block;
    ++list.count;
  }
  g_lock.unlock();
}

GuardedBlock* find_guarded(const void* address) noexcept {
  const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(address) - g_guarded.base);
  return g_guarded.base != nullptr && offset < g_guarded.bytes ? g_guarded.blocks[offset / kPage] : nullptr;
}

GuardedBlock* open_fault(const void* address) noexcept {
  const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(address) - g_guarded.base);
  if (g_guarded.base == nullptr || offset >= g_guarded.bytes) return nullptr;
  const auto page = static_cast<std::uint32_t>(offset / kPage);
  if (page >= g_guarded.next_page.load(std::memory_order_acquire)) return nullptr;
  const auto is_live = [](const GuardedBlock* block) {
    return block != nullptr && block->state.load(std::memory_order_relaxed) == BlockState::Live;
  };
  GuardedBlock* block = g_guarded.blocks[page];
  GuardedBlock* const before = page != 0 ? g_guarded.blocks[page - 1] : nullptr;
  GuardedBlock* const behind = page + 1 < g_guarded.bytes / kPage ? g_guarded.blocks[page + 1] : nullptr;
  if (block == nullptr) block = is_live(before) || !is_live(behind) ? before : behind;
  if (block == nullptr || !open_pages(page, 1, true)) return nullptr;
  (before != nullptr ? before : block)->was_hit = true;
  return block;
}

bool is_slack_whole(const GuardedBlock& block) noexcept {
  const char* const behind = block.user + block.size;
  return is_filled(begin_of(block), static_cast<std::uint64_t>(block.user - begin_of(block)), kRedzoneByte) &&
         is_filled(behind, static_cast<std::uint64_t>(end_of(block) - behind), kRedzoneByte);
}

void report_slack(const GuardedBlock& block, FoundAt found) noexcept {
  report_damage(ErrorSort::WriteBefore, found, begin_of(block), block.user, kRedzoneByte, block.user, block.size);
  report_damage(ErrorSort::WriteBehind, found, block.user + block.size, end_of(block), kRedzoneByte, block.user,
                block.size);
}

std::uint32_t guarded_pages() noexcept {
  return g_guarded.base != nullptr ? g_guarded.next_page.load(std::memory_order_acquire) : 0;
}
GuardedBlock* guarded_at(std::uint32_t page) noexcept {
  GuardedBlock* const block = g_guarded.blocks[page];
  return block != nullptr && block->first_page == page ? block : nullptr;
}

void lock_guarded() noexcept { g_lock.lock(); }
void unlock_guarded() noexcept { g_lock.unlock(); }

} // namespace heaptape::recorder
