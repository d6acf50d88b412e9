// Frames as module+0xoffset, without symbols, for output that shows the same ones again and again: "libc.so.6+0x8a1f3".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "report/names/frame_places.h"
#include "tape/contents.h"

namespace heaptape {

enum class FrameForm : std::uint8_t {
  Text, // 0x7f3c1f48a1f3  libc.so.6+0x8a1f3; "?" instead of the module when none is known
  Json, // {"pc":"0x7f3c1f48a1f3","module":"libc.so.6","offset":"0x8a1f3"}; without a module only the first
};

// Looks into tables that must outlive it. Keeps the text of every frame it has named. One thread at a time.
class FrameTexts {
public:
  FrameTexts(const std::vector<Module>& modules, const std::vector<StackNode>& stacks, FrameForm form);

  // One node of a stack. When modules took turns at its address, the one seen last at `time_us` is
  // meant. Valid until the next call.
  std::string_view of(StackId node, std::uint64_t time_us);

  // See each_stack_node().
  template <class Visit>
  std::uint64_t each_node(StackId stack, Visit visit) const {
    return each_stack_node(stacks_, stack, visit);
  }

private:
  void write(const Frame& frame); // to latest_

  const std::vector<StackNode>& stacks_;
  FramePlaces places_;
  FrameForm form_;
  // Of frames that mean the same at any time.
  std::string known_;
  std::vector<std::uint64_t> where_known_; // by node: offset in known_ << 16 | length; 0: not yet
  std::string latest_;
};

} // namespace heaptape
