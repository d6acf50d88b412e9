#include "recorder/hooks/pool_names.h"

#include <atomic>

#include "recorder/core/text_records.h"

namespace heaptape::recorder {

namespace {

constexpr std::uint64_t kLongest = 240; // bytes of a name that count
constexpr std::uint32_t kSlots = wire::kMostPools;

// Hashes of the names in use, by linear probing; a pool's number is its place and one more. The last place stays free: its number is for all names
// that find no place.
constinit std::atomic<std::uint64_t> g_names[kSlots];

std::uint64_t hash_of(const char* name, std::uint64_t length) noexcept {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325u;
  for (std::uint64_t i = 0; i < length; ++i) hash = (hash ^ static_cast<unsigned char>(name[i])) * 0x100'0000'01b3u;
  return hash != 0 ? hash : 1;
}

} // namespace

void send_name(const char* name, wire::PoolNameKind kind, std::uint32_t number, const Frame& site) noexcept {
  const std::uint64_t length = length_of(name, kLongest);
  (void)put_text(name, length, site); // a pool with half a name is better than one with none
  const std::uint64_t what = wire::pool_size_field(static_cast<std::uint32_t>(kind), number);
  (void)record(EventKind::PoolName, length, what, site, false);
}

std::uint32_t pool_number(const char* name, wire::PoolNameKind kind, const Frame& site) noexcept {
  const std::uint64_t hash = hash_of(name, length_of(name, kLongest));
  const auto first = static_cast<std::uint32_t>((hash >> 20) % (kSlots - 1));
  for (std::uint32_t step = 0; step < kSlots - 1; ++step) {
    const std::uint32_t place = (first + step) % (kSlots - 1);
    std::uint64_t there = g_names[place].load(std::memory_order_relaxed);
    if (there == hash) return place + 1;
    if (there != 0) continue;
    if (g_names[place].compare_exchange_strong(there, hash, std::memory_order_relaxed)) {
      send_name(name, kind, place + 1, site);
      return place + 1;
    }
    if (there == hash) return place + 1;
  }
  return kSlots;
}

void record_pool_block(std::uint32_t pool, std::uint64_t block, std::uint64_t size, const Frame& site) noexcept {
  if (size >> 32 != 0) (void)record(EventKind::PoolBegin, block, size, site, false);
  (void)record(EventKind::PoolAlloc, block, wire::pool_size_field(pool, size), site, true);
}

void record_pool_free(std::uint32_t pool, std::uint64_t block, const Frame& site) noexcept {
  (void)record(EventKind::PoolFree, block, wire::pool_size_field(pool, 0), site, g_recorder.free_stacks);
}

void reset_pool_names() noexcept {
  for (std::atomic<std::uint64_t>& name : g_names) name.store(0, std::memory_order_relaxed);
}

} // namespace heaptape::recorder
