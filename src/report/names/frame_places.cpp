#include "report/names/frame_places.h"

#include "wire/stack_roots.h"

namespace heaptape {
namespace {

const Symbols& no_symbols() {
  static const Symbols none;
  return none;
}

} // namespace

FramePlaces::FramePlaces(const std::vector<Module>& modules, const std::vector<StackNode>& stacks,
                         const Symbols& symbols)
    : module_list_(modules), stacks_(stacks), symbols_(symbols), modules_(modules) {
  for (const Module& module : modules) files_.push_back(symbols.file_of(module));
}

FramePlaces::FramePlaces(const std::vector<Module>& modules, const std::vector<StackNode>& stacks)
    : FramePlaces(modules, stacks, no_symbols()) {}

std::optional<std::uint64_t> FramePlaces::epoch_of(StackId stack) const {
  // The recorder counts modulo this; a program that changed its code more often has no unique epochs.
  if (modules_.turns() >= wire::kEpochs) return std::nullopt;
  while (stack.value != 0 && stack.value < stacks_.size()) {
    const StackNode& node = stacks_[stack.value];
    if (node.pc >= wire::kRootEpoch && node.pc < wire::kRootEpoch + wire::kEpochs) return node.pc - wire::kRootEpoch;
    if (node.parent.value >= stack.value) break;
    stack = node.parent;
  }
  return 0;
}

bool FramePlaces::is_signal_trampoline(const Module& module, std::uint64_t address) const {
  const auto file = files_[static_cast<std::size_t>(&module - module_list_.data())];
  return file && symbols_.is_signal_trampoline(*file, address);
}

Frame FramePlaces::describe(StackId node, std::uint64_t pc, bool exact, const Module* module) const {
  if (module == nullptr) {
    return {.node = node,
            .pc = pc,
            .offset = pc,
            .address = exact ? pc : inside_the_call(pc),
            .places = symbols_.run_time_places(node)};
  }
  Frame frame{.node = node, .pc = pc, .module = module, .offset = pc - module->load_bias};
  frame.address = exact ? frame.offset : inside_the_call(frame.offset);
  const auto file = files_[static_cast<std::size_t>(module - module_list_.data())];
  if (file) frame.places = symbols_.find(*file, frame.address);
  return frame;
}

} // namespace heaptape
