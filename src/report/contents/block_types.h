// What the blocks at a snapshot are. A program does not say, so it is found out, and how is part of the answer:
//
//   Function   the function that made it, in angle brackets: "<sdsnewlen>". Not a type, but a function often makes blocks of one kind
//   None       nobody knows who made it
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/memory/table_vector.h"
#include "report/contents/snapshot_heap.h"
#include "report/names/stack_names.h"

namespace heaptape {

enum class TypeSource : std::uint8_t { Vtable, Frame, Runtime, Derived, Function, None };

// "vtable", "frame", …: for programs that read the answer.
std::string_view source_name(TypeSource source);

struct BlockType {
  std::string name;
  TypeSource source = TypeSource::None;

  bool is_known() const { return source != TypeSource::Function && source != TypeSource::None; }
};

// Const calls may come from any thread.
class BlockTypes {
public:
  // `names` are those of the tape that the heap is of. Neither is needed afterwards.
  static BlockTypes of(SnapshotHeap& heap, StackNames& names);

  // A number below size(). Types that are named alike and known alike have one number.
  std::uint32_t type_of(std::uint32_t block) const { return type_of_[block]; }
  std::size_t size() const { return types_.size(); }
  const BlockType& operator[](std::uint32_t type) const { return types_[type]; }
  const BlockType& of_block(std::uint32_t block) const { return types_[type_of_[block]]; }

private:
  std::vector<BlockType> types_;
  TableVector<std::uint32_t> type_of_;
};

} // namespace heaptape
