#include "report/contents/retained_types.h"

namespace heaptape {

std::vector<std::uint64_t> retained_by_type(const Dominators& dominators, std::span<const std::uint32_t> type_of,
                                            std::size_t types) {
  struct Step {
    std::uint32_t node = 0;
    bool down = true; // to what it holds; else back from there
  };
  const DominatorChildren children(dominators);
  std::vector<std::uint64_t> retained(types);
  std::vector<std::uint32_t> above(types); // blocks of each type on the way from the root
  std::vector<Step> steps{{Dominators::kRoot}};
  while (!steps.empty()) {
    const Step step = steps.back();
    steps.pop_back();
    const std::uint32_t block = dominators.block_of(step.node);
    if (block != Dominators::kNone) {
      std::uint32_t& same = above[type_of[block]];
      if (!step.down) {
        --same;
        continue;
      }
      if (same++ == 0) retained[type_of[block]] += dominators.retained_bytes(step.node);
      steps.push_back({step.node, false});
    }
    for (const std::uint32_t child : children.of(step.node)) steps.push_back({child});
  }
  return retained;
}

} // namespace heaptape
