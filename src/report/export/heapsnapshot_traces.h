// Where the blocks of a .heapsnapshot were made: one tree of functions, outermost first. Private to heapsnapshot*.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/memory/block_ranks.h"
#include "report/export/sink.h"
#include "report/names/stack_names.h"

namespace heaptape {

class HeapSnapshotTraces {
public:
  // The blocks' groups are StackIds.
  HeapSnapshotTraces(const BlockRanks& ranks, StackNames& names);

  std::size_t functions() const { return functions_.size(); }
  // 0: its stack is not known.
  std::uint32_t node_of(StackId stack) const { return stack.value < by_stack_.size() ? by_stack_[stack.value] : 0; }
  void write_functions(Sink& sink, const std::function<std::uint32_t(const std::string&)>& string_number) const;
  void write_tree(Sink& sink) const;

private:
  struct Node {
    std::uint32_t function = 0; // number in functions_
    std::uint64_t blocks = 0, bytes = 0;
    std::vector<std::uint32_t> children{};
  };
  std::uint32_t child(std::uint32_t parent, FrameId frame);

  StackNames& names_;
  std::vector<FrameId> functions_; // one per place; the first is nobody's
  std::map<FrameId, std::uint32_t> function_numbers_;
  std::vector<Node> nodes_;                                                      // the first is the root
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> by_function_; // by parent and function
  std::vector<std::uint32_t> by_stack_;
};

} // namespace heaptape
