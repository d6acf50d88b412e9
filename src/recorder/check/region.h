// The address space that checked blocks lie in, taken once from the kernel:
//
//   base                             base + small_bytes                                    base + bytes
//   | chunk of class 3 | chunk of class 7 | ... | not used yet |   runs of chunks, one large block in each   |
//
//   chunk:   head | slot | slot | slot | ...        slot:   block | redzone        (the head and all slack are redzone, too)
//   run:     head | block | redzone up to the end of its page | no access up to the end of the run
//
// So a block has a redzone on either side: the one before it belongs to the slot before. What is known of a block lies apart, where
// no overrun of the program's gets at: from any address inside a block, two look-ups lead to it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "recorder/check/size_class.h"
#include "recorder/check/spin_lock.h"

namespace heaptape::recorder {

enum class BlockState : std::uint8_t {
  Fresh = 0, // never given out
  Live = 1,
  Released = 2,
  Changing = 3, // between the others; who looks from outside looks again
};

// What is known of a small block, in one word, so that it changes at once.
//   bits 0..17 size, 18..19 state, 20..24 log2 of an alignment beyond 16 (0: none)
struct BlockFacts {
  std::uint32_t word = 0;

  static constexpr BlockFacts of(std::uint64_t size, BlockState state, unsigned log_alignment) noexcept {
    return {static_cast<std::uint32_t>(size) | std::uint32_t{static_cast<std::uint8_t>(state)} << 18 |
            log_alignment << 20};
  }
  constexpr std::uint32_t size() const noexcept { return word & 0x3'ffff; }
  constexpr BlockState state() const noexcept { return static_cast<BlockState>(word >> 18 & 3); }
  constexpr unsigned log_alignment() const noexcept { return word >> 20 & 31; }
};
static_assert(kLargestSlot < 1 << 18);

// Of a large block, and of the run of chunks that it lies in. Changed by the thread that makes or releases the block.
struct LargeBlock {
  std::atomic<std::uint64_t> size;
  char* user;               // its first byte
  std::uint64_t accessible; // bytes from the run's begin that the program may touch
  std::uint64_t zone_end;   // where the redzone behind the block ends, counted from there
  std::uint32_t chunks;     // in the run
  std::uint32_t next;       // first chunk of the next run in a list; 0: none
  std::atomic<BlockState> state;
  std::uint8_t log_alignment;
  bool dirty; // may hold something else than zero
};

inline constexpr std::uint16_t kUnusedChunk = 0;
inline constexpr std::uint16_t kRunBegin = 0xffff;
inline constexpr std::uint16_t kRunRest = 0xfffe;

struct Chunk {
  std::atomic<std::uint16_t> use; // a size class, or one of the above; stored last (release)
  std::uint32_t run_begin;        // kRunRest: the chunk that the run begins with
  union {
    std::atomic<std::uint32_t>* facts; // a size class: BlockFacts by slot
    LargeBlock* large;                 // kRunBegin
  };
};

struct Region {
  char* base = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t small_bytes = 0;
  Chunk* chunks = nullptr;
  std::atomic<std::uint32_t> small_used{0}; // chunks given to classes
  std::uint32_t small_open = 0;             // chunks at the begin that the program may touch

  std::uint64_t offset_of(const void* address) const noexcept {
    return static_cast<std::uint64_t>(static_cast<const char*>(address) - base);
  }
  bool holds(const void* address) const noexcept { return offset_of(address) < bytes; }
  std::uint32_t small_chunks() const noexcept { return static_cast<std::uint32_t>(small_bytes / kChunkBytes); }
  std::uint32_t all_chunks() const noexcept { return static_cast<std::uint32_t>(bytes / kChunkBytes); }
  char* chunk_at(std::uint32_t index) const noexcept { return base + std::uint64_t{index} * kChunkBytes; }
};
extern constinit Region g_region;

// Takes the address space. `most` is how much of it is allowed; less is taken where there is less. False: there is none.
[[nodiscard]] bool open_region(std::uint64_t most) noexcept;

// To be held around take_own_memory() and take_chunk().
extern constinit SpinLock g_region_lock;

// The recorder's own memory for what is known of blocks: zero, for ever. Null: there is none.
[[nodiscard]] void* take_own_memory(std::uint64_t bytes) noexcept;
[[nodiscard]] void* map_own_memory(std::uint64_t bytes) noexcept; // pages of its own, which may be given back
void unmap_own_memory(void* memory, std::uint64_t bytes) noexcept;

// The next chunk for a class; kNoChunk: address space or memory is used up.
inline constexpr std::uint32_t kNoChunk = ~std::uint32_t{0};
[[nodiscard]] std::uint32_t take_chunk() noexcept;

// A small block by an address in its slot.
struct Slot {
  char* begin;
  std::atomic<std::uint32_t>* facts;
  std::uint32_t size_class;
  std::uint32_t index;

  char* end() const noexcept { return begin + kClassFacts[size_class].bytes; }
};
inline char* block_in(char* slot, BlockFacts facts) noexcept {
  const unsigned log = facts.log_alignment();
  if (log == 0) [[likely]]
    return slot;
  const std::uint64_t alignment = std::uint64_t{1} << log;
  return reinterpret_cast<char*>((reinterpret_cast<std::uint64_t>(slot) + alignment - 1) & ~(alignment - 1));
}

// How far the bytes of a block go, counted from its begin: a released one is filled up to the next 16.
inline std::uint64_t end_of_content(BlockFacts facts) noexcept {
  const std::uint64_t size = facts.size();
  return facts.state() == BlockState::Released ? (size + 15) & ~std::uint64_t{15} : size;
}

struct GuardedBlock;
enum class Found : std::uint8_t { Nothing, Small, Large, Guarded };
struct Place {
  Found found = Found::Nothing;
  Slot slot{};
  LargeBlock* large = nullptr;
  GuardedBlock* guarded = nullptr;
  std::uint32_t run = 0; // its first chunk
};

[[gnu::always_inline]] inline bool find_slot(const void* address, Slot& slot) noexcept {
  const std::uint64_t offset = g_region.offset_of(address);
  if (offset >= g_region.small_bytes) [[unlikely]]
    return false;
  const Chunk& chunk = g_region.chunks[offset / kChunkBytes];
  const std::uint32_t size_class = chunk.use.load(std::memory_order_acquire); // pairs with the chunk's first use
  const std::uint64_t in_chunk = (offset & (kChunkBytes - 1)) - kChunkHead;
  if (size_class == kUnusedChunk || in_chunk >= kChunkBytes - kChunkHead) [[unlikely]]
    return false;
  const ClassFacts& facts = kClassFacts[size_class];
  slot.index = static_cast<std::uint32_t>(in_chunk * facts.factor >> kFactorShift);
  if (slot.index >= facts.slots) [[unlikely]]
    return false;
  slot.begin = g_region.base + (offset & ~(kChunkBytes - 1)) + kChunkHead + std::uint64_t{slot.index} * facts.bytes;
  slot.facts = chunk.facts + slot.index;
  slot.size_class = size_class;
  return true;
}

Place find_place(const void* address) noexcept;

} // namespace heaptape::recorder
