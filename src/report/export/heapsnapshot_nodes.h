// Which nodes a .heapsnapshot has. Private to heapsnapshot*.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/memory/table_vector.h"
#include "report/export/contents_input.h"

namespace heaptape {

inline constexpr std::uint32_t kNoNode = ~std::uint32_t{};

// Root words that belong together.
struct NodeGroup {
  std::string name{};
  bool weak = false;
  std::vector<std::uint32_t> words{}; // numbers in Roots::words
};

// Blocks of one type that are one node, below the block that holds them.
struct FoldedNode {
  std::uint32_t holder = kNoNode; // a block; kNoNode: a root, or nothing
  std::uint32_t type = 0;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  bool is_lost = false;
};

//   0 root | 1 (GC roots) | 2 (lost blocks) | 3 (doubtful references) | groups | blocks by address | folded nodes
class HeapSnapshotNodes {
public:
  static constexpr std::uint32_t kRoot = 0, kGcRoots = 1, kLost = 2, kDoubtful = 3, kFirstGroup = 4;

  // A heap of more than `most` blocks is folded.
  HeapSnapshotNodes(const ContentsInput& input, std::uint32_t most);

  std::span<const NodeGroup> groups() const { return groups_; }
  std::span<const FoldedNode> folded() const { return folded_; } // by holder, those without one last
  bool is_folding() const { return is_folding_; }

  std::uint32_t node_of(std::uint32_t block) const { // kNoNode: folded
    return is_folding_ ? node_[block] : first_block() + block;
  }
  std::uint32_t first_block() const { return kFirstGroup + static_cast<std::uint32_t>(groups_.size()); }
  std::uint32_t first_folded() const { return first_block() + blocks_; }
  std::uint32_t count() const { return first_folded() + static_cast<std::uint32_t>(folded_.size()); }
  std::uint32_t blocks() const { return blocks_; } // that are nodes

  // Blocks that no root and no other block leads to, or only a way of lost ones.
  std::span<const std::uint32_t> lost() const { return lost_; }
  std::span<const std::uint32_t> doubtful() const { return doubtful_; }

  // When folding: the blocks that this one holds and that are nodes, though it does not lead to them itself. kNoNode: those that no
  // block holds and to which no root leads itself.
  std::span<const std::uint32_t> held_by(std::uint32_t block) const;
  std::span<const FoldedNode> folded_in(std::uint32_t block) const;

private:
  void make_groups(const ContentsInput& input);
  void find_unreached(const ContentsInput& input);
  void fold(const ContentsInput& input, std::uint32_t most);
  void add_folded(FoldedNode node);
  void add_held(const ContentsInput& input, const Dominators& dominators);

  struct Held {
    std::uint32_t holder, block;
  };
  bool is_folding_ = false;
  std::uint32_t blocks_ = 0;
  std::vector<NodeGroup> groups_;
  std::vector<std::uint32_t> lost_, doubtful_;
  TableVector<std::uint32_t> node_;
  std::vector<FoldedNode> folded_;
  std::vector<Held> held_;                 // by holder
  std::vector<std::uint32_t> held_blocks_; // the same without the holders
};

} // namespace heaptape
