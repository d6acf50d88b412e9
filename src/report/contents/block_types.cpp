#include "report/contents/block_types.h"

#include <map>
#include <unordered_map>
#include <utility>

#include "report/names/charged_function.h"

namespace heaptape {
namespace {

// Gives types their numbers.
class TypeNumbers {
public:
  explicit TypeNumbers(std::vector<BlockType>& types) : types_(types) {}

  std::uint32_t number_of(BlockType type) {
    const auto [found, is_new] =
        numbers_.try_emplace({type.source, type.name}, static_cast<std::uint32_t>(types_.size()));
    if (is_new) types_.push_back(std::move(type));
    return found->second;
  }

private:
  std::vector<BlockType>& types_;
  std::map<std::pair<TypeSource, std::string>, std::uint32_t> numbers_;
};

BlockType type_by_function(StackNames& names, Plumbing& plumbing, StackId stack) {
  const std::vector<FrameId> frames = names.frames_of(stack);
  if (frames.empty()) return {"(unknown)", TypeSource::None};
  const FrameId maker = frames[charged_frame(plumbing, frames)];
  return {"<" + std::string(names.function(maker)) + ">", TypeSource::Function};
}

} // namespace

std::string_view source_name(TypeSource source) {
  switch (source) {
  case TypeSource::Vtable: return "vtable";
  case TypeSource::Frame: return "frame";
  case TypeSource::Runtime: return "runtime";
  case TypeSource::Derived: return "derived";
  case TypeSource::Function: return "function";
  case TypeSource::None: return "none";
  }
  return "";
}

BlockTypes BlockTypes::of(SnapshotHeap& heap, StackNames& names) {
  BlockTypes made;
  TypeNumbers numbers(made.types_);
  Plumbing plumbing(names);
  std::unordered_map<StackId, std::uint32_t> by_stack;
  const BlockRanks& ranks = heap.ranks();
  made.type_of_.resize(ranks.size());
  for (std::uint32_t block = 0; block < ranks.size(); ++block) {
    const StackId stack = heap.stack_of(block);
    const auto [found, is_new] = by_stack.try_emplace(stack);
    if (is_new) found->second = numbers.number_of(type_by_function(names, plumbing, stack));
    made.type_of_[block] = found->second;
  }
  return made;
}

} // namespace heaptape
