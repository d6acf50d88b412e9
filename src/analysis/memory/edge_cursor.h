// The references from block to block one by one, with the places of the words that make them. The graph knows what leads where, in the order
// of the words, but not where they lie; this reads it from the blocks.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/memory/heap_view.h"

namespace heaptape {

struct WalkedEdge {
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{};
  std::uint32_t target = 0;
  std::uint64_t offset = kUnknown; // of the word in its block; unknown when it cannot be read any more
  std::uint64_t inside = 0;        // where in the target it leads
};

// The parts of the heap must outlive it. One thread at a time.
class EdgeCursor {
public:
  explicit EdgeCursor(const HeapView& heap) : heap_(heap), cursor_(heap.image) {}

  // To the first reference of this block. Blocks in order of their numbers are read quickest.
  void go_to(std::uint32_t block);
  // The block's next reference, in the order of its words; nullopt: there is none.
  std::optional<WalkedEdge> next();

private:
  bool leads_to(std::uint64_t address, std::uint32_t block) const {
    return address == heap_.ranks.begin(block) ||
           (address > heap_.ranks.begin(block) && address < heap_.ranks.end(block));
  }

  const HeapView heap_;
  MemoryCursor cursor_;
  std::uint32_t block_ = 0, edge_ = 0, end_ = 0;
  MemoryPiece piece_{};  // the one being read
  std::uint64_t at_ = 0; // the next word in it
};

} // namespace heaptape
