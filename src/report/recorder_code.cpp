#include "report/recorder_code.h"

#include <algorithm>
#include <array>

namespace heaptape {
namespace {

// Hooks that are no calls of the allocator, or do other things besides.
constexpr std::array kOtherHooks = std::to_array<std::string_view>(
    {"mmap", "mmap64", "munmap", "mremap", "mprotect", "dlclose", "prctl", "syscall", "pthread_create",
     "pthread_cancel", "asprintf", "vasprintf", "__asprintf_chk", "__vasprintf_chk"});

} // namespace

bool is_recorder(const Module& module) { return last_part(module.path).starts_with("libheaptape.so"); }

RecorderCode::RecorderCode(const std::vector<Module>& modules, const std::vector<StackNode>& stacks,
                           const StackNames& names)
    : stacks_(stacks), names_(names) {
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

bool RecorderCode::allocates(StackId hook) const {
  const std::string_view name = names_.linkage_name_of(hook);
  if (name.starts_with("heaptape_")) return false;
  return std::find(kOtherHooks.begin(), kOtherHooks.end(), name) == kOtherHooks.end();
}

StackId RecorderCode::allocating_stack(StackId stack) const {
  StackId hook; // the outermost of the recorder's frames so far, side by side
  while (stack.value != 0 && stack.value < stacks_.size()) {
    const StackNode& node = stacks_[stack.value];
    if (holds(node.pc)) {
      hook = stack;
    } else if (hook.value != 0) {
      if (allocates(hook)) return stack;
      hook = StackId();
    }
    if (node.parent.value >= stack.value) break; // never on a good tape
    stack = node.parent;
  }
  return StackId();
}

} // namespace heaptape
