#include "report/export/heapsnapshot_traces.h"

#include <algorithm>

namespace heaptape {

HeapSnapshotTraces::HeapSnapshotTraces(const BlockRanks& ranks, StackNames& names) : names_(names) {
  functions_.emplace_back();
  nodes_.emplace_back();
  for (std::uint32_t block = 0; block < ranks.size(); ++block) {
    const std::uint32_t stack = ranks.group(block);
    if (stack >= by_stack_.size()) by_stack_.resize(std::size_t{stack} + 1, 0);
    if (by_stack_[stack] == 0) {
      std::uint32_t at = 0;
      const std::vector<FrameId> frames = names.frames_of(StackId(stack));
      for (std::size_t i = frames.size(); i-- > 0;) at = child(at, frames[i]);
      by_stack_[stack] = at + 1;
    }
    Node& node = nodes_[by_stack_[stack] - 1];
    ++node.blocks;
    node.bytes += ranks.bytes(block);
  }
}

std::uint32_t HeapSnapshotTraces::child(std::uint32_t parent, FrameId frame) {
  const auto [function, is_new] = function_numbers_.try_emplace(frame, static_cast<std::uint32_t>(functions_.size()));
  if (is_new) functions_.push_back(frame);
  const auto [found, is_first] =
      by_function_.try_emplace({parent, function->second}, static_cast<std::uint32_t>(nodes_.size()));
  if (is_first) {
    nodes_[parent].children.push_back(found->second);
    nodes_.push_back({function->second});
  }
  return found->second;
}

void HeapSnapshotTraces::write_functions(Sink& sink,
                                         const std::function<std::uint32_t(const std::string&)>& string_number) const {
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    std::string name = "(root)", file;
    std::uint32_t line = 0, column = 0;
    if (i != 0) {
      const NamedFrame& frame = names_[functions_[i]];
      name = names_.text(frame.function);
      file = names_.text(frame.file.value != 0 ? frame.file : frame.module_name);
      line = frame.line;
      column = frame.column;
    }
    sink.print("{}{},{},{},0,{},{}", i == 0 ? "" : ",\n", i, string_number(name), string_number(file), line, column);
  }
}

void HeapSnapshotTraces::write_tree(Sink& sink) const {
  struct Open {
    std::uint32_t node;
    std::size_t next = 0; // child
  };
  std::vector<Open> open;
  const auto begin = [&](std::uint32_t number) {
    const Node& node = nodes_[number];
    sink.print("{},{},{},{},[", number + 1, node.function, node.blocks, node.bytes);
    open.push_back({number});
  };
  for (begin(0); !open.empty() && !sink.failed();) {
    Open& last = open.back();
    const std::vector<std::uint32_t>& children = nodes_[last.node].children;
    if (last.next == children.size()) {
      sink.add("]");
      open.pop_back();
      continue;
    }
    if (last.next != 0) sink.add(",");
    begin(children[last.next++]);
  }
}

} // namespace heaptape
