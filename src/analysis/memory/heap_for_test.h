// Heaps made up by tests: blocks that point to each other, in memory that can be read as from a snapshot.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/memory/pages_for_test.h"
#include "analysis/memory/reference_graph.h"

namespace heaptape {

class HeapForTest {
public:
  static constexpr std::uint64_t kHeap = 0x5555'0000'0000;

  // The next block, behind the one before with a header between as glibc has; all zero. Gives its number.
  std::uint32_t add(std::uint64_t size, std::uint32_t group = 0) {
    const std::uint64_t address = next_;
    for (std::uint64_t at = 0; at <= size; at += kPageBytes) pages.touch(address + at);
    pages.touch(address + size);
    next_ = (address + size + 16 + 15) & ~std::uint64_t{15};
    blocks.push_back({address, size, group});
    return static_cast<std::uint32_t>(blocks.size() - 1);
  }
  std::uint64_t at(std::uint32_t block, std::uint64_t offset = 0) const { return blocks[block].address + offset; }
  // The word at `offset` in `from` points to `inside` in `to`.
  void point(std::uint32_t from, std::uint64_t offset, std::uint32_t to, std::uint64_t inside = 0) {
    pages.put_word(at(from, offset), at(to, inside));
  }

  // Makes a type object of CPython of a block of 400 bytes.
  void be_type(std::uint32_t block) {
    point(block, 8, block);
    point(block, 24, block, 200);
    pages.put_word(at(block, 200), 0x65707974); // "type"
  }

  // Of what was made so far. Valid as long as the heap.
  const MemoryImage& image() {
    if (!image_) image_.emplace(pages.runs(), pages);
    return *image_;
  }
  const BlockRanks& ranks() {
    if (!ranks_) ranks_.emplace(BlockRanks::of(blocks).value());
    return *ranks_;
  }
  ReferenceGraph graph(const GraphOptions& options = {}) {
    return ReferenceGraph::of(image(), ranks(), options).value();
  }

  PagesForTest pages;
  std::vector<HeapBlock> blocks; // by address

private:
  std::uint64_t next_ = kHeap + 0x10;
  std::optional<MemoryImage> image_;
  std::optional<BlockRanks> ranks_;
};

} // namespace heaptape
