// Gives the program's stack nodes their numbers on the tape: dense, in order of first use, parents before children,
// twins (two nodes with the same parent and pc) folded into one. About 24 bytes per node. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "tape/contents.h"
#include "wire/layout.h"

namespace heaptape {

class StackFolder {
public:
  // The nodes are the program's, in shared memory, and must stay mapped.
  explicit StackFolder(const wire::StackNode* nodes, std::uint32_t capacity = wire::kNodeCapacity);
  StackFolder(const StackFolder&) = delete;
  StackFolder& operator=(const StackFolder&) = delete;
  ~StackFolder();

  // The tape's number of a wire node. Ids that make no sense, and nodes that are not complete, are "no stack" (and
  // counted).
  StackId fold(std::uint32_t wire_id) {
    if (wire_id < capacity_) [[likely]] {
      const std::uint32_t known = tape_of_wire_[wire_id];
      if (known != 0) [[likely]]
        return StackId(known);
    }
    return fold_new(wire_id);
  }

  // Nodes numbered since the last take_new(), and the number of the first of them.
  const std::vector<StackNode>& new_nodes() const { return new_nodes_; }
  StackId first_new() const { return StackId(count_ - static_cast<std::uint32_t>(new_nodes_.size()) + 1); }
  void clear_new() { new_nodes_.clear(); }

  std::uint32_t count() const { return count_; }
  // Of one that has been numbered.
  StackNode node(StackId id) const { return {StackId(parents_[id.value]), pcs_[id.value]}; }
  // Whether `inner` was called, however indirectly, from the call that `outer` stands for. Parents have smaller
  // numbers.
  bool is_called_from(StackId inner, StackId outer) const {
    if (outer.value == 0) return false;
    std::uint32_t id = inner.value;
    while (id > outer.value) id = parents_[id];
    return id == outer.value && inner.value != id;
  }
  std::uint64_t damaged() const { return damaged_; }
  // Stacks of events that end before their root: cut where the unwinder found no way on, or at the depth limit.
  std::uint64_t cut_stacks() const { return cut_stacks_; }
  std::uint64_t too_deep_stacks() const { return too_deep_stacks_; }

private:
  StackId fold_new(std::uint32_t wire_id);
  std::uint32_t canonical(std::uint32_t parent, std::uint64_t pc);
  void grow_table();
  static std::uint64_t hash_of(std::uint32_t parent, std::uint64_t pc);

  const wire::StackNode* nodes_;
  std::uint32_t capacity_;      // of the node array
  std::uint32_t* tape_of_wire_; // capacity_ numbers, sparse; 0: not seen yet
  struct Step {
    std::uint32_t node;
    std::uint64_t pc; // as it was read
  };
  std::vector<Step> path_;
  std::vector<StackNode> new_nodes_;

  // Open addressed: tape numbers by hash of (parent, pc); 0 = empty. What the numbers stand for is in the two columns.
  std::vector<std::uint32_t> table_;
  std::vector<std::uint64_t> pcs_;
  std::vector<std::uint32_t> parents_;
  std::uint32_t count_ = 0;
  std::vector<std::uint8_t> marks_; // by tape number: the mark at the stack's root, if it says that frames are missing
  std::uint64_t damaged_ = 0;
  std::uint64_t cut_stacks_ = 0;
  std::uint64_t too_deep_stacks_ = 0;
};

} // namespace heaptape
