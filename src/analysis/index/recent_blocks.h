// The last blocks that a thread made, to tell a container that grows: it makes a larger block at the place where it made the one
// before, and frees that one soon after.
//
//   allocate 64 at S
//   allocate 128 at S    a vector is full; the elements move
//   free the 64          replaces_smaller(S, 64) finds the 128: the vector has grown, and the 128 is spent
//
// One thread at a time.
#pragma once

#include <cstdint>

namespace heaptape {

// Whether a block of `larger` bytes may well be what one of `smaller` became: between a fifth more and four times as much.
constexpr bool is_next_capacity(std::uint64_t smaller, std::uint64_t larger) {
  return larger > smaller && larger - smaller >= smaller / 5 && larger / 4 <= smaller;
}

class RecentBlocks {
public:
  [[gnu::always_inline]] void made(std::uint32_t owner, std::uint64_t size) {
    before_ = last_;
    last_ = {size, owner};
  }
  // A block is freed: whether one of the last two that were made is the next larger one of its owner. True only once for each of
  // these.
  [[gnu::always_inline]] bool replaces_smaller(std::uint32_t owner, std::uint64_t size) {
    return take(last_, owner, size) || take(before_, owner, size);
  }

private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Entry {
    std::uint64_t size = 0;
    std::uint32_t owner = kNone;
  };
  [[gnu::always_inline]] static bool take(Entry& entry, std::uint32_t owner, std::uint64_t size) {
    if (entry.owner != owner || !is_next_capacity(size, entry.size)) return false;
    entry.owner = kNone;
    return true;
  }

  Entry last_, before_;
};

} // namespace heaptape
