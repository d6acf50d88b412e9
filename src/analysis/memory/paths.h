// How a root leads to a block: by as few references as possible, from a variable or mapping if there is such a way, else from a stack.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/memory/heap_view.h"
#include "analysis/memory/table_vector.h"

namespace heaptape {

struct PathStep {
  std::uint32_t block = 0;
  std::uint64_t word = 0;   // where the reference to this block lies: in the root, or in the block of the step before
  std::uint64_t offset = 0; // where in this block it leads
};
struct ReferencePath {
  std::uint32_t range = 0;       // of the root, a number in Roots::ranges
  std::vector<PathStep> steps{}; // the last is the block that was asked for
};

// Made once for a heap, in about the time of marking; then each path takes as long as its blocks are to read. 4 bytes per block.
// Const calls may come from any thread.
class ShortestPaths {
public:
  explicit ShortestPaths(const HeapView& heap); // all parts of which must outlive it

  // The block that leads to this one on its path; itself when a root does; BlockRanks::kNone: it is lost.
  std::uint32_t before(std::uint32_t block) const { return before_[block]; }
  // How many references lead from a root to the block; 0: none does. No more than 2^32 - 1.
  std::uint32_t length(std::uint32_t block) const;
  // Of a path with more steps the first `most` are given. nullopt: the block is lost.
  std::optional<ReferencePath> to(std::uint32_t block, std::size_t most = 10'000) const;

private:
  static constexpr std::uint32_t kUnreached = BlockRanks::kNone;

  void search_from(std::vector<std::uint32_t> level);

  HeapView heap_;
  TableVector<std::uint32_t> before_; // the block that leads here; itself: a root does; kUnreached
};

} // namespace heaptape
