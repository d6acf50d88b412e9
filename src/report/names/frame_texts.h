// Frames as module+0xoffset, and their names where the tape holds them, for output that shows the same ones again and
// again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "report/names/frame_places.h"
#include "symbols/demangle.h"
#include "tape/contents.h"

namespace heaptape {

enum class FrameForm : std::uint8_t {
  // 0x7f3c1f48a1f3  Cache::insert [cache.cpp:88]  libapp.so+0x8a1f3
  // 0x7f3c1f48a1f3  libc.so.6+0x8a1f3; "?" instead of the module when none is known
  // Functions that were inlined there stand on lines of their own in front.
  Text,
  // {"pc":"0x7f3c1f48a1f3","module":"libapp.so","offset":"0x8a1f3","function":"Cache::insert","file":..,"line":88}; only
  // what is known. "inlined_into" is a list of the functions that this one was inlined into, the real one last.
  Json,
};

// Looks into tables that must outlive it. Keeps the text of every frame it has named. One thread at a time.
class FrameTexts {
public:
  // Without symbols there are no names.
  FrameTexts(const std::vector<Module>& modules, const std::vector<StackNode>& stacks, FrameForm form,
             const Symbols* symbols = nullptr, NameForm names = NameForm::Short);

  // One node of a stack. When modules took turns at its address, the one seen last at `time_us` is
  // meant. `interrupted`: the frame inside it is a signal trampoline, false for the innermost; it is set for the frame
  // outside this one. Lines of text are separated, not ended. Valid until the next call.
  std::string_view of(StackId node, std::uint64_t time_us, bool& interrupted);
  // The same for a node alone, which is taken for a call.
  std::string_view of(StackId node, std::uint64_t time_us) {
    bool interrupted = false;
    return of(node, time_us, interrupted);
  }

  // See each_stack_node().
  template <class Visit>
  std::uint64_t each_node(StackId stack, Visit visit) const {
    return each_stack_node(stacks_, stack, visit);
  }

private:
  void write(const Frame& frame); // to latest_
  void write_text(const Frame& frame);
  void write_json(const Frame& frame);

  const std::vector<StackNode>& stacks_;
  FramePlaces places_;
  FrameForm form_;
  NameForm names_;
  // Of frames that mean the same at any time.
  std::string known_;
  std::vector<std::uint64_t> where_known_; // by node: offset in known_ << 17 | trampoline << 16 | length; 0: not yet
  std::string latest_;
};

} // namespace heaptape
