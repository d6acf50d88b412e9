// Live blocks summed by place: a stretch of addresses cut into cells of equal size, and what lies in each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/heap/block_map.h"
#include "analysis/heap/heap_state.h"
#include "analysis/heap/owner_table.h"
#include "base/ids.h"

namespace heaptape {

// All live blocks. 40 bytes of memory for each.
std::vector<Block> blocks_by_address(const HeapState& state);
// Those with a byte in [begin, end), of blocks sorted by address that do not overlap.
std::span<const Block> blocks_in(std::span<const Block> by_address, std::uint64_t begin, std::uint64_t end);

struct CellGrid {
  std::uint64_t begin = 0;
  std::uint64_t cell_bytes = 1; // not 0
  std::size_t cells = 0;

  std::uint64_t end() const { return begin + cells * cell_bytes; }
  bool holds(std::uint64_t address) const { return address >= begin && address < end(); }
  std::size_t cell_of(std::uint64_t address) const { return static_cast<std::size_t>((address - begin) / cell_bytes); }
  std::uint64_t address_of(std::size_t cell) const { return begin + cell * cell_bytes; }
};

struct Cell {
  std::uint64_t live_bytes =
      0; // of the blocks' parts that lie in it; more than the cell has where blocks overlap, on a damaged tape
  std::uint32_t blocks = 0;    // that begin in it
  std::uint64_t largest = 0;   // the whole size of the largest block with a byte in it
  std::uint64_t oldest_us = 0; // when the oldest and the youngest of them were made
  std::uint64_t youngest_us = 0;
  StackId stack; // that holds most of live_bytes, the lower id of two that hold the same; 0 when all blocks are empty

  // A block of 0 bytes lies in the cell too.
  bool is_used() const { return live_bytes != 0 || blocks != 0; }
  friend bool operator==(const Cell&, const Cell&) = default;
};

// One pass over the blocks in the grid; they are sorted by address. `owners` is the table that their owners are numbers
// of.
std::vector<Cell> heap_cells(std::span<const Block> by_address, const OwnerTable& owners, const CellGrid& grid);

} // namespace heaptape
