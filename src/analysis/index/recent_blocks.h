// What the last few events of a thread made, to tell a container that grows: it makes a larger block at the place where it made the
// one before, and frees that one soon after.
//
//   allocate 64 at S     next()
//   allocate 128 at S    next()        a vector is full; the elements move
//   free the 64          replaces_smaller(S, 64) finds the 128: the vector has grown, and the 128 is spent
//
// One thread at a time.
#pragma once

#include <array>
#include <cstdint>

namespace heaptape {

// Whether a block of `larger` bytes may well be what one of `smaller` became: between a fifth more and four times as much.
constexpr bool is_next_capacity(std::uint64_t smaller, std::uint64_t larger) {
  return larger > smaller && larger - smaller >= smaller / 5 && larger / 4 <= smaller;
}

class RecentBlocks {
public:
  static constexpr std::uint32_t kEvents = 3; // of the thread, before the one that frees

  // The present event made a block.
  [[gnu::always_inline]] void made(std::uint32_t owner, std::uint64_t size) { entries_[now_] = {size, owner}; }
  // The present event is over.
  [[gnu::always_inline]] void next() {
    now_ = (now_ + 1) % kEntries;
    entries_[now_].owner = kNone;
  }
  // The present event frees a block: whether one of the last few made the next larger one of the same owner. True only once for that.
  [[gnu::always_inline]] bool replaces_smaller(std::uint32_t owner, std::uint64_t size) {
    for (std::uint32_t back = 1; back <= kEvents; ++back) {
      Entry& entry = entries_[(now_ - back) % kEntries];
      if (entry.owner != owner || !is_next_capacity(size, entry.size)) continue;
      entry.owner = kNone;
      return true;
    }
    return false;
  }

private:
  static constexpr std::uint32_t kEntries = kEvents + 1; // a power of two, so that going back wraps around
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Entry {
    std::uint64_t size = 0;
    std::uint32_t owner = kNone;
  };
  std::array<Entry, kEntries> entries_{};
  std::uint32_t now_ = 0;
};

} // namespace heaptape
