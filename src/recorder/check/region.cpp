#include "recorder/check/region.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/core/machine.h"
#include "recorder/core/own_memory.h"

namespace heaptape::recorder {

constinit Region g_region{};
constinit SpinLock g_region_lock;

namespace {

constexpr std::uint64_t kMostSmall = std::uint64_t{64} << 30; // slots have numbers of 32 bits, by 16 bytes
constexpr std::uint64_t kMostLarge = std::uint64_t{448} << 30;
constexpr std::uint64_t kLeast = std::uint64_t{32} << 20;
constexpr std::uint32_t kChunksAtOnce = 16;
constexpr std::uint64_t kArenaBytes = std::uint64_t{1} << 20;

constinit char* g_arena = nullptr;
constinit std::uint64_t g_arena_left = 0;
constinit std::uint64_t g_arena_bytes = 0; // of all arenas so far
constinit std::uint32_t g_large_noted = 0;

char* map(std::uint64_t bytes, int protection) noexcept {
  const long memory = system_call(SYS_mmap, 0, static_cast<long>(bytes), protection,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory < 0 && memory > -4096 ? nullptr : reinterpret_cast<char*>(memory);
}

} // namespace

bool open_region(std::uint64_t most) noexcept {
  constexpr std::uint64_t kWhole = kMostSmall + kMostLarge;
  for (std::uint64_t bytes = kWhole; bytes >= kLeast; bytes /= 2) {
    if (bytes > most) continue;
    char* const memory = map(bytes + kChunkBytes, PROT_NONE);
    if (memory == nullptr) continue;
    const std::uint64_t rounded =
        (reinterpret_cast<std::uint64_t>(memory) + kChunkBytes - 1) & ~std::uint64_t{kChunkBytes - 1};
    auto* const chunks = static_cast<Chunk*>(map_own_memory(bytes / kChunkBytes * sizeof(Chunk)));
    if (chunks == nullptr) {
      unmap_own_memory(memory, bytes + kChunkBytes);
      continue;
    }
    g_region.base = reinterpret_cast<char*>(rounded);
    g_region.bytes = bytes;
    // Where there is little, half of it is for large blocks.
    g_region.small_bytes = bytes == kWhole ? kMostSmall : bytes / 2 < kMostSmall ? bytes / 2 : kMostSmall;
    g_region.chunks = chunks;
    return true;
  }
  return false;
}

void* map_own_memory(std::uint64_t bytes) noexcept {
  char* const memory = map(bytes, PROT_READ | PROT_WRITE);
  // There is room for few names; what is small and many is told by its name alone, where the kernel keeps those.
  constexpr std::uint64_t kNoted = kArenaBytes;
  constexpr std::uint32_t kMostNoted = wire::kOwnMemories / 2;
  if (memory != nullptr && bytes >= kNoted && g_large_noted < kMostNoted) {
    ++g_large_noted;
    note_own_memory(as_long(memory), bytes);
  } else if (memory != nullptr) {
    name_own_memory(as_long(memory), bytes);
  }
  return memory;
}

void unmap_own_memory(void* memory, std::uint64_t bytes) noexcept {
  (void)system_call(SYS_munmap, reinterpret_cast<long>(memory), static_cast<long>(bytes));
}

void* take_own_memory(std::uint64_t bytes) noexcept {
  bytes = (bytes + 63) & ~std::uint64_t{63};
  if (bytes > g_arena_left) {
    // Each is half as large as all before it, so there are few.
    std::uint64_t fresh = (g_arena_bytes / 2 + kArenaBytes) & ~(kArenaBytes - 1);
    if (fresh < bytes) fresh = (bytes + kArenaBytes - 1) & ~(kArenaBytes - 1);
    g_arena = static_cast<char*>(map_own_memory(fresh));
    g_arena_left = g_arena != nullptr ? fresh : 0;
    if (g_arena == nullptr) return nullptr;
    g_arena_bytes += fresh;
  }
  char* const taken = g_arena;
  g_arena += bytes;
  g_arena_left -= bytes;
  return taken;
}

std::uint32_t take_chunk() noexcept {
  const std::uint32_t next = g_region.small_used.load(std::memory_order_relaxed);
  if (next >= g_region.small_chunks()) return kNoChunk;
  if (next >= g_region.small_open) {
    std::uint32_t more = g_region.small_chunks() - g_region.small_open;
    if (more > kChunksAtOnce) more = kChunksAtOnce;
    if (system_call(SYS_mprotect, as_long(g_region.chunk_at(g_region.small_open)),
                    static_cast<long>(std::uint64_t{more} * kChunkBytes), PROT_READ | PROT_WRITE) != 0)
      return kNoChunk;
    g_region.small_open += more;
  }
  g_region.small_used.store(next + 1, std::memory_order_release);
  return next;
}

Place find_place(const void* address) noexcept {
  Place place;
  if (!g_region.holds(address)) return place;
  const std::uint64_t offset = g_region.offset_of(address);
  if (offset < g_region.small_bytes) {
    if (find_slot(address, place.slot)) place.found = Found::Small;
    return place;
  }
  auto index = static_cast<std::uint32_t>(offset / kChunkBytes);
  const std::uint16_t use =
      g_region.chunks[index].use.load(std::memory_order_acquire); // pairs with the run's first use
  if (use == kUnusedChunk) return place;
  if (use == kRunRest) index = g_region.chunks[index].run_begin;
  place.large = g_region.chunks[index].large;
  place.run = index;
  if (place.large != nullptr) place.found = Found::Large;
  return place;
}

} // namespace heaptape::recorder
