// Names a frame of a call stack as module+0xoffset, without symbols: "libc.so.6+0x8a1f3".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "report/names/frame_places.h"
#include "report/names/module_map.h"
#include "tape/contents.h"

namespace heaptape {

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
  // until the next call, as below.
  std::string_view text(StackId node, std::uint64_t time_us);
  // {"pc":"0x7f3c1f48a1f3","module":"libc.so.6","offset":"0x8a1f3"}; without a module only the first.
  std::string_view json(StackId node, std::uint64_t time_us);

  // See each_stack_node().
  template <class Visit>
  std::uint64_t each_frame(StackId stack, Visit visit) const {
    return each_stack_node(stacks_, stack, visit);
  }

private:
  // Texts of frames that mean the same at any time.
  struct Cache {
    std::string texts;
    std::vector<std::uint64_t> places; // by node: offset in texts << 16 | length; 0: not yet
  };

  bool has_one_module_at_most(std::uint64_t pc) const;
  template <class Write>
  std::string_view remembered(Cache& cache, StackId node, std::uint64_t time_us, Write write);

  const std::vector<StackNode>& stacks_;
  ModuleMap modules_;
  Cache text_cache_, json_cache_;
  std::string latest_;
};

} // namespace heaptape
