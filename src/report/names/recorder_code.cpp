#include "report/names/recorder_code.h"

#include <algorithm>

#include "base/path_text.h"

namespace heaptape {

bool is_recorder(const Module& module) { return base_name(module.path).starts_with("libheaptape.so"); }

RecorderCode::RecorderCode(const std::vector<Module>& modules, const std::vector<StackNode>& stacks) : stacks_(stacks) {
  for (const Module& module : modules) {
    if (is_recorder(module)) ranges_.emplace_back(module.start, module.end);
  }
}

bool RecorderCode::holds(std::uint64_t pc) const {
  // A pc is a return address: it may be the first one behind the code.
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [&](const auto& range) { return pc > range.first && pc <= range.second; });
}

bool RecorderCode::holds_innermost(StackId stack) const {
  return stack.value < stacks_.size() && holds(stacks_[stack.value].pc);
}

} // namespace heaptape
