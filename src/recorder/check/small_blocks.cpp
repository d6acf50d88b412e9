#include "recorder/check/small_blocks.h"

#include "recorder/check/fill.h"
#include "recorder/check/gap.h"
#include "recorder/check/spin_lock.h"
#include "recorder/core/machine.h"

namespace heaptape::recorder {

namespace {

constexpr std::uint32_t kFirstRing = 512;        // slots; a page
constexpr std::uint32_t kLongRing = 1024;        // from here on, aged ones are for all threads
constexpr std::uint32_t kHandedOver = 256;       // so many at once
constexpr std::uint64_t kBatchBytes = 16 * 1024; // that a thread takes from a chunk at once
constexpr std::uint32_t kMostLarger = 12;        // classes that a signal handler tries

// Of one class, for all threads: the rest of its newest chunk, and slots that threads had too many of.
struct alignas(64) Shared {
  SpinLock lock;
  char* next;         // in the chunk
  std::uint32_t left; // slots
  std::uint32_t* slots;
  std::uint32_t count, capacity;
};
constinit Shared g_shared[kClasses]{};

std::uint32_t number_of(const char* slot) noexcept { return static_cast<std::uint32_t>(g_region.offset_of(slot) / 16); }
char* slot_numbered(std::uint32_t number) noexcept { return g_region.base + std::uint64_t{number} * 16; }

Slot slot_in(char* begin, std::uint32_t size_class) noexcept {
  const std::uint64_t offset = g_region.offset_of(begin);
  const std::uint64_t in_chunk = (offset & (kChunkBytes - 1)) - kChunkHead;
  const auto index = static_cast<std::uint32_t>(in_chunk * kClassFacts[size_class].factor >> kFactorShift);
  return {begin, g_region.chunks[offset / kChunkBytes].facts + index, size_class, index};
}

[[gnu::always_inline]] inline void prefetch_slot(std::uint32_t number, std::uint32_t size_class) noexcept {
  char* const slot = slot_numbered(number);
  __builtin_prefetch(slot, 1);
  __builtin_prefetch(slot_in(slot, size_class).facts, 1);
}

// -------------------------------------------------------------------------------------------------------------- rings

[[gnu::noinline, gnu::cold]] bool grow_ring(SlotRing& ring) noexcept {
  const std::uint32_t capacity = ring.slots != nullptr ? ring.mask + 1 : 0;
  const std::uint32_t wanted = capacity != 0 ? capacity * 2 : kFirstRing;
  auto* const slots = static_cast<ReleasedSlot*>(map_own_memory(wanted * sizeof(ReleasedSlot)));
  if (slots == nullptr) return false;
  const std::uint32_t count = ring.count();
  for (std::uint32_t i = 0; i < count; ++i) slots[i] = ring.at(ring.head + i);
  if (ring.slots != nullptr) unmap_own_memory(ring.slots, capacity * sizeof(ReleasedSlot));
  ring.slots = slots;
  ring.mask = wanted - 1;
  ring.head = 0;
  ring.tail = count;
  return true;
}

bool has_aged(const ThreadCache& cache, const ReleasedSlot& slot) noexcept {
  return cache.clock - slot.clock >= g_quarantine_units.load(std::memory_order_relaxed);
}

// Under the lock. False: there is no room, and the slot is lost.
bool share(Shared& shared, std::uint32_t number) noexcept {
  if (shared.count == shared.capacity) {
    const std::uint32_t capacity = shared.capacity != 0 ? shared.capacity * 2 : 4096;
    auto* const slots = static_cast<std::uint32_t*>(map_own_memory(capacity * sizeof(std::uint32_t)));
    if (slots == nullptr) return false;
    copy_bytes(reinterpret_cast<char*>(slots), reinterpret_cast<const char*>(shared.slots),
               shared.count * sizeof(std::uint32_t));
    if (shared.slots != nullptr) unmap_own_memory(shared.slots, shared.capacity * sizeof(std::uint32_t));
    shared.slots = slots;
    shared.capacity = capacity;
  }
  shared.slots[shared.count++] = number;
  return true;
}

// Room for one more. A thread that releases what others make hands it back to them.
[[gnu::noinline, gnu::cold]] bool make_room(ThreadCache& cache, SlotRing& ring, std::uint32_t size_class) noexcept {
  if (ring.slots == nullptr || ring.count() < kLongRing || !has_aged(cache, ring.at(ring.head + kHandedOver)))
    return grow_ring(ring);
  Shared& shared = g_shared[size_class];
  const Locked locked(shared.lock);
  for (std::uint32_t i = 0; i < kHandedOver; ++i) (void)share(shared, ring.at(ring.head++).number);
  return true;
}

// ---------------------------------------------------------------------------------------------------------- fresh slots

// A new chunk for the class, under its lock and that of the region. False: there is none.
bool open_chunk(Shared& shared, std::uint32_t size_class) noexcept {
  const std::uint32_t slots = kClassFacts[size_class].slots;
  auto* const facts = static_cast<std::atomic<std::uint32_t>*>(take_own_memory(slots * sizeof(std::uint32_t)));
  if (facts == nullptr) return false;
  const std::uint32_t index = take_chunk();
  if (index == kNoChunk) return false;
  Chunk& chunk = g_region.chunks[index];
  chunk.facts = facts;
  chunk.use.store(static_cast<std::uint16_t>(size_class), std::memory_order_release); // pairs with find_slot()
  shared.next = g_region.chunk_at(index) + kChunkHead;
  shared.left = slots;
  fill16(shared.next - kChunkHead, kChunkHead, kRedzoneByte);
  return true;
}

// Up to `wanted` slots that were never used, under the lock of the class. Their ends are redzones from here on: the blocks behind
// them rely on that.
char* take_fresh(Shared& shared, std::uint32_t size_class, std::uint32_t wanted, std::uint32_t& taken) noexcept {
  const std::uint32_t bytes = kClassFacts[size_class].bytes;
  taken = shared.left < wanted ? shared.left : wanted;
  char* const first = shared.next;
  shared.next += std::uint64_t{taken} * bytes;
  shared.left -= taken;
  for (std::uint32_t i = 1; i <= taken; ++i)
    fill16(first + std::uint64_t{i} * bytes - kRedzone, kRedzone, kRedzoneByte);
  return first;
}

// More slots for a ring that has none to give: those that others had too many of, else fresh ones. Null: no memory.
[[gnu::noinline, gnu::cold]] char* refill(ThreadCache& cache, SlotRing& ring, std::uint32_t size_class) noexcept {
  const std::uint32_t bytes = kClassFacts[size_class].bytes;
  const auto batch = static_cast<std::uint32_t>(kBatchBytes / bytes);
  const std::uint32_t wanted = batch != 0 ? batch : 1;
  Shared& shared = g_shared[size_class];
  std::uint32_t fresh = 0;
  {
    const Locked locked(shared.lock);
    if (shared.count != 0) {
      std::uint32_t more = shared.count < wanted ? shared.count : wanted;
      while ((ring.slots == nullptr || ring.count() + more > ring.mask) && grow_ring(ring)) {}
      if (ring.slots == nullptr) return nullptr;
      if (more > ring.mask - ring.count()) more = ring.mask - ring.count();
      const std::uint32_t old = cache.clock - g_quarantine_units.load(std::memory_order_relaxed);
      for (; more > 1; --more) ring.at(--ring.head) = {shared.slots[--shared.count], old};
      return slot_numbered(shared.slots[--shared.count]);
    }
    if (shared.left == 0) {
      const Locked chunks(g_region_lock);
      if (!open_chunk(shared, size_class)) return nullptr;
    }
    ring.fresh = take_fresh(shared, size_class, wanted, fresh);
  }
  note_heap_bytes(std::uint64_t{fresh} * bytes);
  ring.fresh_left = fresh - 1;
  char* const first = ring.fresh;
  ring.fresh += bytes;
  return first;
}

// A slot from which nobody else will take a block. Null: no memory.
[[gnu::always_inline]] inline char* take_slot(ThreadCache& cache, std::uint32_t size_class) noexcept {
  SlotRing& ring = cache.rings[size_class];
  if (ring.head != ring.tail && has_aged(cache, ring.at(ring.head))) [[likely]] {
    constexpr std::uint32_t kAhead = 2;
    if (ring.count() > kAhead) prefetch_slot(ring.at(ring.head + kAhead).number, size_class);
    return slot_numbered(ring.at(ring.head++).number);
  }
  if (ring.fresh_left != 0) {
    char* const slot = ring.fresh;
    ring.fresh += kClassFacts[size_class].bytes;
    --ring.fresh_left;
    return slot;
  }
  return refill(cache, ring, size_class);
}

// Makes the block in its slot. Null: the slot is in use, for its last block was released twice at once.
[[gnu::always_inline]] inline char* make_in(const Slot& slot, const Wish& wish) noexcept {
  const BlockFacts old{slot.facts->load(std::memory_order_relaxed)};
  const bool fresh = old.state() == BlockState::Fresh;
  if (!fresh) {
    if (old.state() != BlockState::Released) [[unlikely]]
      return nullptr;
    char* const released = block_in(slot.begin, old);
    if (!is_block_filled(released, old.size(), g_check.released_byte)) [[unlikely]]
      report_released(released, old.size(), FoundAt::Reuse);
  }
  slot.facts->store(BlockFacts::of(0, BlockState::Changing, 0).word, std::memory_order_relaxed);
  compiler_barrier(); // the processor keeps the order of stores
  const BlockFacts facts = BlockFacts::of(wish.size, BlockState::Live, wish.log_alignment);
  char* const block = block_in(slot.begin, facts);
  if (block != slot.begin) fill_bytes(slot.begin, static_cast<std::uint64_t>(block - slot.begin), kRedzoneByte);
  if (wish.zero) {
    if (!fresh) fill_bytes(block, wish.size, 0);
  } else if (g_check.fill) {
    fill_block(block, wish.size, g_check.fresh_byte);
  }
  write_redzone(block + wish.size, slot.end());
  compiler_barrier();
  slot.facts->store(facts.word, std::memory_order_release); // pairs with the sweep
  return block;
}

// Fills a live block as a released one.
[[gnu::always_inline]] inline void release_in(const Slot& slot, BlockFacts facts) noexcept {
  slot.facts->store(BlockFacts::of(0, BlockState::Changing, 0).word, std::memory_order_relaxed);
  compiler_barrier();
  fill_block(block_in(slot.begin, facts), facts.size(), g_check.released_byte);
  compiler_barrier();
  slot.facts->store(BlockFacts::of(facts.size(), BlockState::Released, facts.log_alignment()).word,
                    std::memory_order_release); // pairs with the sweep
}

} // namespace

char* make_small(ThreadCache& cache, const Wish& wish) noexcept {
  const std::uint32_t size_class = class_of(slot_bytes_for(wish));
  while (true) {
    char* const begin = take_slot(cache, size_class);
    if (begin == nullptr) return nullptr;
    char* const block = make_in(slot_in(begin, size_class), wish);
    if (block != nullptr) [[likely]]
      return block;
  }
}

void put_small(ThreadCache& cache, const Slot& slot, BlockFacts facts) noexcept {
  release_in(slot, facts);
  SlotRing& ring = cache.rings[slot.size_class];
  if (ring.slots == nullptr || ring.count() >= ring.mask) [[unlikely]] {
    if (!make_room(cache, ring, slot.size_class)) return; // never used again
  }
  cache.clock += static_cast<std::uint32_t>((kClassFacts[slot.size_class].bytes + kClockUnit - 1) / kClockUnit);
  ring.at(ring.tail++) = {number_of(slot.begin), cache.clock};
}

char* make_small_nested(const Wish& wish) noexcept {
  const std::uint32_t first = class_of(slot_bytes_for(wish));
  for (std::uint32_t size_class = first; size_class < first + kMostLarger && size_class < kClasses; ++size_class) {
    Shared& shared = g_shared[size_class];
    if (!shared.lock.try_lock()) continue;
    if (shared.left == 0 && g_region_lock.try_lock()) {
      (void)open_chunk(shared, size_class);
      g_region_lock.unlock();
    }
    std::uint32_t taken = 0;
    char* const begin = shared.left != 0 ? take_fresh(shared, size_class, 1, taken) : nullptr;
    shared.lock.unlock();
    if (begin != nullptr) return make_in(slot_in(begin, size_class), wish);
  }
  return nullptr;
}

void put_small_nested(const Slot& slot, BlockFacts facts) noexcept {
  release_in(slot, facts);
  Shared& shared = g_shared[slot.size_class];
  if (!shared.lock.try_lock()) return; // never used again
  (void)share(shared, number_of(slot.begin));
  shared.lock.unlock();
}

bool resize_small(const Slot& slot, BlockFacts facts, std::uint64_t size) noexcept {
  char* const block = block_in(slot.begin, facts);
  const auto room = static_cast<std::uint64_t>(slot.end() - block);
  if (size + kRedzone > room || (size + kRedzone) * 2 < room) return false;
  slot.facts->store(BlockFacts::of(0, BlockState::Changing, 0).word, std::memory_order_relaxed);
  compiler_barrier();
  if (size > facts.size() && g_check.fill) {
    const std::uint64_t more = size - facts.size();
    fill_bytes(block + facts.size(), more < kFilledFront || g_check.full ? more : kFilledFront, g_check.fresh_byte);
  }
  write_redzone(block + size, slot.end());
  compiler_barrier();
  slot.facts->store(BlockFacts::of(size, BlockState::Live, facts.log_alignment()).word, std::memory_order_release);
  return true;
}

void lock_small() noexcept {
  for (Shared& shared : g_shared) shared.lock.lock();
  g_region_lock.lock();
}
void unlock_small() noexcept {
  g_region_lock.unlock();
  for (Shared& shared : g_shared) shared.lock.unlock();
}

} // namespace heaptape::recorder
