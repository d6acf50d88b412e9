// What began to hold blocks that were not there before: the way from the roots to a new block in the tree of dominators leads through what
// was there already, and from some block on through new ones alone.
//
//   g_shop ─► Shop ─► Node* ─► Order*      * is new. Orders are held by Shop, which was there, through nodes; the first group of new
//                     Node  ─► Order         blocks on the way is that of the nodes
//
// Blocks are taken together by groups of a RetainedTree, so a node that hangs on an older node of the same list is held by what the list is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/memory/dominators.h"
#include "analysis/memory/heap_view.h"
#include "analysis/memory/retained_tree.h"

namespace heaptape {

struct NewBlocks {
  static constexpr std::uint32_t kNotAsked = ~std::uint32_t{};
  const std::vector<bool>& is_new; // by block
  std::span<const std::uint32_t>
      what_of; // by block: what it counts as, a number of the caller's; kNotAsked: it does not count
};

struct NewHolding {
  static constexpr std::uint32_t kNone = ~std::uint32_t{};
  std::uint32_t what = 0;  // of the blocks
  std::uint32_t group = 0; // that they are in; kNone: nothing leads to them
  std::uint32_t first =
      0; // of the first new blocks on the way to them, this group or one above; what is above it holds them
  std::uint64_t blocks = 0, bytes = 0;
  std::uint32_t example = 0;   // the block among them that retains most
  std::uint32_t outermost = 0; // the first new block on the way to the example
  std::uint32_t holder = 0;    // the block that holds the first new ones of all of them; kNone: several do, or none
};

// Of each kind of blocks the holding with most bytes first; kinds in order. `tree` is of the whole heap.
std::vector<NewHolding> new_holdings(const HeapView& heap, const Dominators& dominators, const RetainedTree& tree,
                                     const NewBlocks& blocks);

// Where in their holders the words lie that lead to new blocks.
struct HeldAt {
  std::uint64_t lowest = ~std::uint64_t{}, highest = 0; // offsets
  bool is_known() const { return lowest <= highest; }
};
// For each of these groups, where blocks of the group above it lead to the first new ones of it. Reads the blocks of the groups above.
std::vector<HeldAt> held_at(const HeapView& heap, const Dominators& dominators, const RetainedTree& tree,
                            const std::vector<bool>& is_new, std::span<const std::uint32_t> groups);

// For each of these blocks, which must differ, blocks that refer to it, at most so many, in order. One pass over all references.
std::vector<std::vector<std::uint32_t>> referrers_of(const HeapView& heap, std::span<const std::uint32_t> blocks,
                                                     std::size_t most);

} // namespace heaptape
