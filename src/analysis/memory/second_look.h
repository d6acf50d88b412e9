// A second look at what seems to be lost: references that are not aligned, as packed structures have them, or that lead right behind a
// block, as the end of a range does. Such words are too often something else to be edges of the graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/memory/heap_view.h"

namespace heaptape {

struct DoubtfulReference {
  std::uint32_t block = 0;   // that it may mean
  bool behind = false;       // it leads right behind the block; else it is not aligned
  std::uint64_t address = 0; // of the word; in registers see kExtendedRegisters
};

class SecondLook {
public:
  // For these blocks.
  SecondLook(const HeapView& heap, const std::vector<std::uint32_t>& lost);

  // Adds the references to lost blocks among words of roots.
  void look_at_roots(bool stacks, std::vector<DoubtfulReference>& found) const;
  // Adds those among words of the blocks for which `wanted` is not 0. There may be more than one to a block.
  void look_at_blocks(std::span<const std::uint8_t> wanted, std::vector<DoubtfulReference>& found) const;

private:
  struct Goal {
    std::uint64_t address;
    std::uint32_t block;
  };
  // A few bits of an address, cheaper to ask than the table itself.
  std::uint64_t bit_of(std::uint64_t address) const { return (address * 0x9e3779b97f4a7c15) >> filter_shift_; }
  bool maybe(const std::vector<std::uint64_t>& filter, std::uint64_t address) const {
    return address - lowest_ <= reach_ && (filter[bit_of(address) / 64] >> bit_of(address) % 64 & 1) != 0;
  }
  void look(std::uint64_t address, std::span<const std::byte> bytes, std::vector<DoubtfulReference>& found) const;
  // Of the word at `place`, which holds `word`.
  void find(bool behind, std::uint64_t place, std::uint64_t word, std::vector<DoubtfulReference>& found) const;

  const HeapView& heap_;
  std::vector<Goal> begins_, ends_; // by address
  std::vector<std::uint64_t> begin_filter_, end_filter_;
  unsigned filter_shift_ = 0;
  std::uint64_t lowest_ = 0, reach_ = 0;
};

} // namespace heaptape
