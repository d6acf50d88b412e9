// What the frames of a call stack are: module, address in it, and source places when the tape holds symbols.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "report/names/module_map.h"
#include "tape/contents.h"
#include "tape/symbols.h"
#include "wire/stack_roots.h"

namespace heaptape {

struct Frame {
  StackId node;
  std::uint64_t pc = 0;                  // as on the tape: a return address, or where a signal interrupted
  const Module* module = nullptr;        // null: none known there
  std::uint64_t offset = 0;              // pc as the module's file counts it; pc itself when there is no module
  std::uint64_t address = 0;             // what was looked up: offset, or inside the call in front of it
  std::span<const SymbolPlace> places{}; // innermost first; empty: not known, print module and offset
};

// Calls visit(node id, pc) for every frame of a stack, innermost first. Ids that are not on the tape end it. Returns
// why outer frames are missing, wire::kRootCut or wire::kRootTooDeep; 0 when none are.
template <class Visit>
std::uint64_t each_stack_node(const std::vector<StackNode>& stacks, StackId stack, Visit visit) {
  std::uint64_t cut = 0;
  while (stack.value != 0 && stack.value < stacks.size()) {
    const StackNode& node = stacks[stack.value];
    if (node.pc >= wire::kFirstAddress) {
      visit(stack, node.pc);
    } else if (node.pc == wire::kRootCut || node.pc == wire::kRootTooDeep) {
      cut = node.pc;
    }
    if (node.parent.value >= stack.value) break; // never on a good tape
    stack = node.parent;
  }
  return cut;
}

// Looks into tables that must outlive it. Const calls may come from any thread.
class FramePlaces {
public:
  FramePlaces(const std::vector<Module>& modules, const std::vector<StackNode>& stacks, const Symbols& symbols);
  // Without symbols: modules and offsets alone, and every address is taken for a return address.
  FramePlaces(const std::vector<Module>& modules, const std::vector<StackNode>& stacks);

  // Calls visit(const Frame&) for every frame of a stack, as each_stack_node() does. Modules that took turns at one
  // address are told apart by the epoch that the stack was taken in.
  template <class Visit>
  std::uint64_t each_frame(StackId stack, Visit visit) const {
    const std::optional<std::uint64_t> epoch = modules_.has_turns() ? epoch_of(stack) : 0;
    return walk(stack, visit, [&](std::uint64_t address) { return modules_.find_in_epoch(address, epoch); });
  }
  // The same, told apart by time: for callers that know the event's time.
  template <class Visit>
  std::uint64_t each_frame_at(StackId stack, std::uint64_t time_us, Visit visit) const {
    return walk(stack, visit, [&](std::uint64_t address) { return modules_.find_at_time(address, time_us); });
  }

  // One frame alone, which must be an address and no mark. `interrupted`: the frame inside it is a signal trampoline;
  // it is set for the frame outside this one.
  Frame frame_of(StackId node, bool& interrupted) const {
    const std::optional<std::uint64_t> epoch = modules_.has_turns() ? epoch_of(node) : 0;
    return frame(node, stacks_[node.value].pc, interrupted,
                 [&](std::uint64_t address) { return modules_.find_in_epoch(address, epoch); });
  }

  // The same, told apart by time.
  Frame frame_at(StackId node, std::uint64_t time_us, bool& interrupted) const {
    return frame(node, stacks_[node.value].pc, interrupted,
                 [&](std::uint64_t address) { return modules_.find_at_time(address, time_us); });
  }

  const ModuleMap& modules() const { return modules_; }

private:
  template <class Visit, class Find>
  std::uint64_t walk(StackId stack, Visit& visit, Find find) const {
    bool interrupted = false; // the frame inside is a signal trampoline
    return each_stack_node(stacks_, stack,
                           [&](StackId node, std::uint64_t pc) { visit(frame(node, pc, interrupted, find)); });
  }

  // Sets `interrupted` for the frame outside this one.
  template <class Find>
  Frame frame(StackId node, std::uint64_t pc, bool& interrupted, Find find) const {
    // A trampoline is "returned to" at its first byte, which may be the first of its module.
    const Module* module = find(pc);
    const bool trampoline = module != nullptr && is_signal_trampoline(*module, pc - module->load_bias);
    const bool exact = interrupted || trampoline;
    interrupted = trampoline;
    if (!exact) module = find(inside_the_call(pc));
    return describe(node, pc, exact, module);
  }

  std::optional<std::uint64_t> epoch_of(StackId stack) const;
  bool is_signal_trampoline(const Module& module, std::uint64_t address) const;
  Frame describe(StackId node, std::uint64_t pc, bool exact, const Module* module) const;

  const std::vector<Module>& module_list_;
  const std::vector<StackNode>& stacks_;
  const Symbols& symbols_;
  ModuleMap modules_;
  std::vector<std::optional<Symbols::File>> files_; // beside module_list_
};

} // namespace heaptape
