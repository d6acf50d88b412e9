// What all blocks at a snapshot are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/memory/table_vector.h"
#include "report/contents/block_type.h"
#include "report/contents/snapshot_heap.h"
#include "report/names/stack_names.h"

namespace heaptape {

// Const calls may come from any thread.
class BlockTypes {
public:
  // `names` are those of the tape that the heap is of. Neither is needed afterwards.
  static BlockTypes of(SnapshotHeap& heap, StackNames& names);

  // A number below size(). Types that are named alike and known alike have one number.
  std::uint32_t type_of(std::uint32_t block) const { return type_of_[block]; }
  std::span<const std::uint32_t> by_block() const { return type_of_; }
  std::size_t size() const { return types_.size(); }
  const BlockType& operator[](std::uint32_t type) const { return types_[type]; }
  const BlockType& of_block(std::uint32_t block) const { return types_[type_of_[block]]; }

private:
  friend class TypeFinder;

  std::vector<BlockType> types_;
  TableVector<std::uint32_t> type_of_;
};

} // namespace heaptape
