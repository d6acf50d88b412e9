// Names a frame of a call stack as module+0xoffset, without symbols: "libc.so.6+0x8a1f3".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "tape/contents.h"

namespace heaptape::cli {

// The module that was loaded at an address, and the address as the module's own file counts it.
struct FramePlace {
  const Module* module = nullptr; // null: none known there
  std::uint64_t offset = 0;       // ELF address; the memory address when there is no module
};

// Looks into tables that must outlive it. Keeps the text of every frame it has named. One thread at a time.
class FrameNames {
public:
  FrameNames(const std::vector<Module>& modules, const std::vector<StackNode>& stacks);

  // `pc` is a return address. When modules took turns at that address, the one seen last at `time_us` is meant.
  FramePlace find(std::uint64_t pc, std::uint64_t time_us) const;

  // "0x7f3c1f48a1f3  libc.so.6+0x8a1f3" for one node of a stack, "?" instead of the module when none is known. Valid
  // until the next call.
  std::string_view text(StackId node, std::uint64_t time_us);

  // Calls visit(node id, pc) for every frame of a stack, innermost first. Ids that are not on the tape end it.
  template <class Visit>
  void each_frame(StackId stack, Visit visit) const {
    while (stack.value != 0 && stack.value < stacks_.size()) {
      const StackNode& node = stacks_[stack.value];
      visit(stack, node.pc);
      if (node.parent.value >= stack.value) return; // never on a good tape
      stack = node.parent;
    }
  }

private:
  struct Range {
    std::uint64_t start, end;
    std::uint64_t highest_end; // of this and all ranges before it
    const Module* module;
  };

  bool has_one_module_at_most(std::uint64_t pc) const;

  const std::vector<StackNode>& stacks_;
  std::vector<Range> ranges_; // by start
  std::string texts_;
  std::vector<std::uint64_t> cached_; // by node: place in texts_ << 16 | length; 0: not yet
  std::string uncached_;
};

// The last part of a path; "?" for an empty one.
std::string_view base_name(std::string_view path);

} // namespace heaptape::cli
