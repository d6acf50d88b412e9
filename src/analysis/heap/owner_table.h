// Numbers for pairs of stack and thread, dense from 0 in order of appearance. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/heap/owner.h"
#include "base/mix.h"

namespace heaptape {

class OwnerTable {
public:
  OwnerTable() : known_(kFewest) {}

  [[gnu::always_inline]] void prefetch(Owner owner) const { __builtin_prefetch(&known_[home(key_of(owner))]); }

  [[gnu::always_inline]] std::uint32_t number_of(Owner owner) {
    const std::uint64_t key = key_of(owner);
    for (std::size_t at = home(key);; at = (at + 1) & (known_.size() - 1)) {
      const Known& known = known_[at];
      if (known.key == key) [[likely]]
        return known.number;
      if (known.key == 0) return add(at, key, owner);
    }
  }

  const std::vector<Owner>& owners() const { return owners_; }
  const Owner& operator[](std::uint32_t number) const { return owners_[number]; }
  std::size_t size() const { return owners_.size(); }

private:
  static constexpr std::size_t kFewest = 1024; // a power of two, as all sizes
  struct Known {
    std::uint64_t key = 0; // 0: empty
    std::uint32_t number = 0;
  };

  // Threads of 2^32 - 1 and stacks of 2^32 - 1 together would be 0; no tape has that many stacks.
  static std::uint64_t key_of(Owner owner) { return (std::uint64_t{owner.thread.value} << 32 | owner.stack.value) + 1; }
  std::size_t home(std::uint64_t key) const { return static_cast<std::size_t>(mix(key) >> 32) & (known_.size() - 1); }
  std::uint32_t add(std::size_t at, std::uint64_t key, Owner owner);
  void grow();

  std::vector<Known> known_;
  std::vector<Owner> owners_;
};

} // namespace heaptape
