// Call stacks as numbers: path -> number, in shared memory, so that the collector can read them.
#pragma once

#include <cstdint>

#include "wire/layout.h"

namespace heaptape::recorder {

// A hash of the path from the root, carried along. A stack that was seen before is found by it alone, whatever its depth: the
// numbers of the callers are needed only to put a new one in. Two paths that end in the same frame are taken for one when their
// hashes are equal; from one caller two frames never have the same hash, and for others the odds are 2^-64 a pair: with a million
// stacks, three runs in a hundred million.
constexpr std::uint64_t kRootHash = 0x51'7c'c1'b7'27'22'0a'95;
constexpr std::uint64_t path_hash(std::uint64_t outer, std::uint64_t pc) noexcept {
  const std::uint64_t mixed = (outer ^ pc) * 0x9e37'79b9'7f4a'7c15u;
  return mixed ^ (mixed >> 32);
}

class InternTable {
public:
  // False: no memory for the tables.
  [[nodiscard]] bool start(std::uint8_t* shared_memory, const wire::Config& config) noexcept;

  // For __builtin_prefetch.
  const void* place_of(std::uint64_t hash) const noexcept {
    const View view = current();
    return &view.entries[hash & view.mask];
  }

  // The number of the path with this hash, which ends in `pc`; 0: it is new.
  std::uint32_t find(std::uint64_t pc, std::uint64_t hash) const noexcept {
    const View view = current();
    for (std::uint64_t i = hash;; ++i) {
      const wire::InternEntry& entry = view.entries[i & view.mask];
      const std::uint64_t seen = entry.hash.load(std::memory_order_acquire);
      if (seen == 0) [[unlikely]]
        return 0;
      if (seen != hash) continue;
      const std::uint64_t value = entry.value.load(std::memory_order_acquire); // pairs with place()
      if (value >> 32 == (pc & 0xffff'ffff)) [[likely]]
        return static_cast<std::uint32_t>(value);
    }
  }

  // The number of frame `pc` called from `parent`; `hash` is the path hash including pc. 0 < pc < 2^48.
  std::uint32_t intern(std::uint32_t parent, std::uint64_t pc, std::uint64_t hash) noexcept {
    const std::uint32_t id = find(pc, hash);
    return id != 0 ? id : insert(parent, pc, hash);
  }

private:
  struct View {
    wire::InternEntry* entries;
    std::uint64_t mask;
  };
  View current() const noexcept {
    const std::uint64_t packed = packed_view_.load(std::memory_order_acquire); // pairs with grow()
    return {reinterpret_cast<wire::InternEntry*>(packed & ~std::uint64_t{63}), (std::uint64_t{1} << (packed & 63)) - 1};
  }
  void show_table(std::uint32_t table) noexcept;
  std::uint32_t insert(std::uint32_t parent, std::uint64_t pc, std::uint64_t hash) noexcept;
  void grow() noexcept;

  wire::Header* header_ = nullptr;
  std::uint8_t* tables_ = nullptr; // ours alone: large pages spare the processor most of the way to a random entry
  std::uint32_t tables_mapped_ = 0;
  wire::StackNode* nodes_ = nullptr;
  // How full it is decides where a search ends, so none of this lies where somebody else could write.
  std::uint32_t node_capacity_ = 0;
  std::uint32_t table_count_ = 0;
  std::atomic<std::uint64_t> next_node_{0}; // may pass the capacity when the array is full
  std::atomic<std::uint32_t> current_table_{0};
  std::atomic<std::uint32_t> growing_{0};     // 1 while a thread fills the next table
  std::atomic<std::uint64_t> packed_view_{0}; // address of the current table | its size in bits, in one word
};

} // namespace heaptape::recorder
