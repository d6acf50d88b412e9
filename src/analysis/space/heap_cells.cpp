#include "analysis/space/heap_cells.h"

#include <algorithm>

namespace heaptape {
namespace {

// What each stack holds of the cell that is being filled.
class StackShares {
public:
  void add(StackId stack, std::uint64_t bytes) {
    if (bytes == 0) return;
    if (stack.value >= bytes_.size()) bytes_.resize(stack.value + std::size_t{1});
    if (bytes_[stack.value] == 0) touched_.push_back(stack);
    bytes_[stack.value] += bytes;
  }
  // The stack with most bytes; forgets all.
  StackId take_largest() {
    StackId best;
    std::uint64_t most = 0;
    for (const StackId stack : touched_) {
      const std::uint64_t bytes = bytes_[stack.value];
      if (bytes > most || (bytes == most && stack < best)) {
        best = stack;
        most = bytes;
      }
      bytes_[stack.value] = 0;
    }
    touched_.clear();
    return best;
  }

private:
  std::vector<std::uint64_t> bytes_; // by stack
  std::vector<StackId> touched_;     // those of which bytes_ is not 0
};

std::uint64_t end_of(const Block& block) {
  const std::uint64_t end = block.address + block.size;
  return end < block.address ? ~std::uint64_t{0} : end;
}

} // namespace

std::vector<Block> blocks_by_address(const HeapState& state) {
  std::vector<Block> blocks;
  blocks.reserve(static_cast<std::size_t>(state.blocks().size()));
  state.blocks().for_each([&](const Block& block) { blocks.push_back(block); });
  std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.address < b.address; });
  return blocks;
}

std::span<const Block> blocks_in(std::span<const Block> by_address, std::uint64_t begin, std::uint64_t end) {
  const auto from = [&](std::uint64_t address) {
    return std::partition_point(by_address.begin(), by_address.end(),
                                [&](const Block& block) { return block.address < address; });
  };
  auto first = from(begin);
  if (first != by_address.begin() && end_of(*std::prev(first)) > begin) --first;
  const auto last = std::max(first, from(end));
  return {first, last};
}

std::vector<Cell> heap_cells(std::span<const Block> by_address, const OwnerTable& owners, const CellGrid& grid) {
  std::vector<Cell> cells(grid.cells);
  StackShares shares;
  std::size_t open = grid.cells; // the cell that shares are of; none yet
  const auto go_to = [&](std::size_t cell) {
    if (cell == open) return;
    if (open != grid.cells) cells[open].stack = shares.take_largest();
    open = cell;
  };
  for (const Block& block : blocks_in(by_address, grid.begin, grid.end())) {
    const StackId stack = owners[block.owner].stack;
    const std::uint64_t begin = std::max(block.address, grid.begin);
    const std::uint64_t end = std::max(begin, std::min(end_of(block), grid.end()));
    const std::size_t last = grid.cell_of(end == begin ? begin : end - 1);
    for (std::size_t at = grid.cell_of(begin); at <= last; ++at) {
      go_to(at);
      Cell& cell = cells[at];
      const bool first_here = !cell.is_used();
      const std::uint64_t here =
          std::min(end, grid.address_of(at) + grid.cell_bytes) - std::max(begin, grid.address_of(at));
      cell.live_bytes += here;
      if (block.address >= grid.address_of(at)) ++cell.blocks;
      cell.largest = std::max(cell.largest, block.size);
      cell.oldest_us = first_here ? block.time_us : std::min(cell.oldest_us, block.time_us);
      cell.youngest_us = std::max(cell.youngest_us, block.time_us);
      shares.add(stack, here);
    }
  }
  go_to(grid.cells);
  return cells;
}

} // namespace heaptape
