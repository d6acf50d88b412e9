// What would be gone if a block were gone: block D holds block B when every path from the roots to B leads through D. The last such
// block on the way is B's dominator; a block's retained size is its own and that of all it dominates.
//
//                          root
//   root ─► A ─► B ─► D     ├─ A ─┬─ B           D can be reached through B and through C, so A holds it
//           A ─► C ─► D     │     ├─ C
//   stack ─► B              │     └─ D
//   stack ─► E              └─ stack of thread 1 ── E
//
// Roots have two ranks. A word on a stack that points into a tree would cut that part out of its owner, though it may be a word left over
// from a call long ago. So registers and stacks count only for what variables and mappings do not lead to, and hold it under a node of
// their thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/memory/heap_view.h"
#include "analysis/memory/table_vector.h"

namespace heaptape {

// A strong root word by its owner, a variable say: what leads to the block.
struct OwnedRoot {
  std::uint32_t owner = 0; // a number that the caller gives
  std::uint32_t block = 0;
  friend auto operator<=>(const OwnedRoot&, const OwnedRoot&) = default;
};

// Const calls may come from any thread. 20 bytes per reachable block; twice as much, and 4 bytes per edge, while it is made.
class Dominators {
public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{};
  static constexpr std::uint32_t kRoot = 0;

  struct StackNode {
    std::uint32_t node = 0;
    std::uint32_t thread = kNone; // number in HeapView::threads; kNone: a stack that no thread was using
  };

  struct OwnerNode {
    std::uint32_t node = 0;
    std::uint32_t owner = 0;
  };

  static Dominators of(const HeapView& heap);
  // With these in place of the heap's strong root words: each owner is a node below the root, and holds what it alone leads to, by however
  // many words. In order of owners; each block once for each.
  static Dominators of(const HeapView& heap, std::span<const OwnedRoot> roots);

  // Nodes are numbered from 0, the root; what is dominated has higher numbers.
  std::uint32_t nodes() const { return static_cast<std::uint32_t>(block_.size()); }
  std::uint32_t node_of(std::uint32_t block) const { return node_[block]; } // kNone: not reachable
  std::uint32_t block_of(std::uint32_t node) const {
    return block_[node];
  }                                                             // kNone: the root, an owner, or a thread's stack
  std::span<const StackNode> stacks() const { return stacks_; } // by node
  std::span<const OwnerNode> owners() const { return owners_; } // by node
  std::uint32_t dominator(std::uint32_t node) const { return dominator_[node]; } // of the root itself: the root
  std::uint64_t retained_bytes(std::uint32_t node) const { return retained_[node]; }

private:
  friend class DominatorMaker;

  TableVector<std::uint32_t> node_;
  TableVector<std::uint32_t> block_;
  TableVector<std::uint32_t> dominator_;
  TableVector<std::uint64_t> retained_;
  std::vector<StackNode> stacks_;
  std::vector<OwnerNode> owners_;
};

// The children of each node in the tree of dominators. 8 bytes per node. Const calls may come from any thread.
class DominatorChildren {
public:
  explicit DominatorChildren(const Dominators& dominators); // which must outlive it
  std::span<const std::uint32_t> of(std::uint32_t node) const {
    return std::span(children_).subspan(first_[node], first_[node + 1] - first_[node]);
  }
  // At most this many, those that retain most first.
  std::vector<std::uint32_t> largest(std::uint32_t node, std::size_t most) const;

private:
  const Dominators& dominators_;
  TableVector<std::uint32_t> first_;
  TableVector<std::uint32_t> children_;
};

} // namespace heaptape
