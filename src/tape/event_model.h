// What the encoder and the decoder of an EVENTS block both know at each event, and what they expect of the next. Both keep
// the same state by seeing the same events, so an expectation that comes true costs a flag. Reset at every block.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tape/event.h"

namespace heaptape {

// One byte per event:
//   bits 0..2  kind code; 7: the kind is in column Kinds
//   bit 3      another thread than the event before: column Threads
//   bit 4      another stack than expected: column Stacks
//   bits 5..7  by shape:
//     allocation  bit 5: another size than expected (column Sizes); bits 6..7: AddressMode
//     release     bits 5..6: BlockMode
//     realloc     bits 5..6: BlockMode of the old block, or 3: all fields are in column Others; bit 7: it moved
//     other       unused, all fields are in column Others
namespace op {
inline constexpr std::uint8_t kKindMask = 7, kKindElsewhere = 7, kThread = 8, kStack = 16, kSize = 32;
inline constexpr unsigned kAddressShift = 6, kBlockShift = 5, kBlockMask = 3, kReallocOther = 3;
inline constexpr std::uint8_t kMoved = 0x80;
} // namespace op

enum class AddressMode : std::uint8_t { LastFreed = 0, Behind = 1, Written = 2 };
enum class BlockMode : std::uint8_t { SameAge = 0, Age = 1, Written = 2 };

inline constexpr std::array<EventKind, 7> kCommonKinds = {EventKind::Malloc,  EventKind::Free,   EventKind::New,
                                                          EventKind::Delete,  EventKind::Calloc, EventKind::Realloc,
                                                          EventKind::NewArray};

enum class Column : std::uint8_t { Ops, Kinds, Threads, Times, Stacks, Sizes, Addresses, Blocks, Others, Count };
inline constexpr std::size_t kColumns = static_cast<std::size_t>(Column::Count);

class EventModel {
public:
  EventModel()
      : next_stack_(std::size_t{1} << kContextBits), size_of_(kStackSlots), age_of_(kStackSlots),
        freed_(kModels * kClasses) {}

  void reset() {
    std::fill(next_stack_.begin(), next_stack_.end(), 0u);
    std::fill(size_of_.begin(), size_of_.end(), std::uint64_t{0});
    std::fill(age_of_.begin(), age_of_.end(), 0u);
    std::fill(freed_.begin(), freed_.end(), Freed{});
    history_ = {};
    allocations_.clear();
    last_thread = 0;
    last_us = 0;
    newest_stack = 0;
    last_address = 0;
    last_freed = 0;
    behind = 0;
  }

  // ------------------------------------------------------------------------------------------------------------- stacks
  std::uint32_t& expected_stack(std::uint32_t thread) {
    const History& past = history_[thread % kModels];
    const std::uint64_t mixed = (past.last * 0x9e37'79b9'7f4a'7c15u) ^ (past.before * 0xd6e8'feb8'6659'fd93u);
    return next_stack_[mixed >> (64 - kContextBits)];
  }
  void saw_stack(std::uint32_t thread, std::uint32_t stack, std::uint32_t& expected) {
    expected = stack;
    History& past = history_[thread % kModels];
    past.before = past.last;
    past.last = stack;
    newest_stack = std::max(newest_stack, stack);
  }

  // -------------------------------------------------------------------------------------------------------------- sizes
  std::uint64_t& expected_size(std::uint32_t stack) { return size_of_[stack % kStackSlots]; }

  // ---------------------------------------------------------------------------------------------------------- addresses
  // Allocators hand out last what was freed first, per thread and size.
  std::uint64_t last_freed_of(std::uint32_t thread, std::uint64_t size) {
    const Freed& freed = freed_of(thread, size);
    return freed.count != 0 ? freed.addresses[(freed.count - 1) % kDepth] : 0;
  }
  void saw_allocation(std::uint32_t thread, std::uint64_t address, std::uint64_t size) {
    Freed& freed = freed_of(thread, size);
    if (freed.count != 0 && freed.addresses[(freed.count - 1) % kDepth] == address) --freed.count;
    last_address = address;
    behind = address + chunk_of(size);
    allocations_.push_back({address, size});
  }
  // `ordinal` counts the block's allocations from 0; the block was made by that one.
  void saw_release_of(std::uint32_t thread, std::size_t ordinal) {
    const Allocation& block = allocations_[ordinal];
    Freed& freed = freed_of(thread, block.size);
    freed.addresses[freed.count % kDepth] = block.address;
    if (++freed.count == 2 * kDepth) freed.count = kDepth; // keeps the place in the ring
    last_freed = block.address;
  }

  std::uint32_t& expected_age(std::uint32_t stack) { return age_of_[stack % kStackSlots]; }
  std::size_t allocation_count() const { return allocations_.size(); }
  std::uint64_t address_of(std::size_t ordinal) const { return allocations_[ordinal].address; }

  std::uint32_t last_thread = 0;
  std::uint64_t last_us = 0;
  std::uint32_t newest_stack = 0;
  std::uint64_t last_address = 0; // of the last allocation
  std::uint64_t last_freed = 0;
  std::uint64_t behind = 0; // where a fresh block would follow the last one

private:
  static constexpr std::size_t kModels = 16; // threads are told apart modulo this
  static constexpr std::size_t kClasses = 72;
  static constexpr std::uint32_t kDepth = 8;
  static constexpr unsigned kContextBits = 15;
  static constexpr std::size_t kStackSlots = std::size_t{1} << 14;

  struct History {
    std::uint64_t last = 0;
    std::uint64_t before = 0;
  };
  struct Freed {
    std::uint32_t count = 0;
    std::array<std::uint64_t, kDepth> addresses{};
  };
  struct Allocation {
    std::uint64_t address;
    std::uint64_t size;
  };

  // What glibc carves out for a request.
  static std::uint64_t chunk_of(std::uint64_t size) {
    return std::max<std::uint64_t>(32, (size + 23) & ~std::uint64_t{15});
  }
  Freed& freed_of(std::uint32_t thread, std::uint64_t size) {
    const std::uint64_t chunk = chunk_of(size) / 16;
    const std::size_t bin = chunk < 66 ? static_cast<std::size_t>(chunk) : 66 + static_cast<std::size_t>(chunk % 6);
    return freed_[thread % kModels * kClasses + bin];
  }

  std::vector<std::uint32_t> next_stack_;
  std::vector<std::uint64_t> size_of_;
  std::vector<std::uint32_t> age_of_;
  std::vector<Freed> freed_;
  std::array<History, kModels> history_{};
  std::vector<Allocation> allocations_;
};

} // namespace heaptape
