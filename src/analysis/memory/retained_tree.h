// What holds the heap, as a tree for people: the tree of dominators, in which blocks of one kind that are held alike are one group.
//
//   g_list ─► List ─► Node ─► Node ─► Node        g_list                one group each: what a root holds,
//                      │       │       │            1 List              in it the blocks that hold the rest
//                      ▼       ▼       ▼              3 Node
//                     Text    Text    Text              3 Text
//
// A block that is held by one of its own kind, as the next node of a list or a branch of a tree is, belongs to the group of that one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "analysis/memory/block_ranks.h"
#include "analysis/memory/dominators.h"
#include "analysis/memory/table_vector.h"

namespace heaptape {

struct RetainedQuestion {
  std::uint32_t from = Dominators::kRoot;       // node of the tree of dominators: the whole heap, or one block
  std::span<const std::uint32_t> kind_of{};     // of each block
  std::function<bool(std::uint32_t)> is_type{}; // of a kind: its blocks are alike; of others only those of one size are
  // Of the whole heap: by what a node is held that only the root holds, a number above all kinds.
  std::function<std::uint32_t(std::uint32_t node)> holder_of{};
};

struct RetainedGroup {
  std::uint32_t parent = 0; // number of the group that holds it; of the first itself
  std::uint32_t depth = 0;
  std::uint32_t kind = 0;              // of its blocks, or what holder_of() gave; of the first 0
  std::uint32_t largest = 0;           // node of the block that retains most
  std::uint32_t maker = 0;             // the group of its blocks in BlockRanks; kMixed: not the same for all
  std::uint64_t blocks = 0, bytes = 0; // its own
  std::uint64_t retained_blocks = 0, retained_bytes = 0; // with all that they hold
  static constexpr std::uint32_t kMixed = ~std::uint32_t{};

  bool is_root() const { return blocks == 0; }
};

// Const calls may come from any thread. 4 bytes per block, and 64 and more per group.
class RetainedTree {
public:
  static RetainedTree of(const Dominators& dominators, const BlockRanks& ranks, const RetainedQuestion& question);

  // The first stands for what was asked about; each comes behind its parent.
  std::span<const RetainedGroup> groups() const { return groups_; }
  // The group of a node of the tree of dominators that lies at or below what was asked about.
  std::uint32_t group_of(std::uint32_t node) const { return group_of_[node]; }
  // The groups that this one holds, those that retain most first.
  std::span<const std::uint32_t> held_by(std::uint32_t group) const {
    return std::span(held_).subspan(first_[group], first_[group + 1] - first_[group]);
  }
  // Of all groups but the first those that retain most, as they stand in the tree: each behind its parent, which retains more.
  std::vector<std::uint32_t> largest(std::size_t most) const;

private:
  friend class RetainedTreeMaker;

  std::vector<RetainedGroup> groups_;
  std::vector<std::uint32_t> first_, held_;
  TableVector<std::uint32_t> group_of_; // by node
};

} // namespace heaptape
