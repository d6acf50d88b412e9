// The reallocs and mremaps whose end has not come yet, of all threads. There are few at a time, so they form one list.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "wire/event_kind.h"

namespace heaptape {

struct BegunCall {
  EventKind kind = EventKind::None;
  bool released = false; // a ReallocRelease was written for it
  bool paused = false;   // its block is not on the tape
  bool unknown = false;  // no block was live at its address
  std::uint32_t slot = 0;
  std::uint32_t thread = 0;
  StackId stack{};
  std::uint64_t time_us = 0;
  std::uint64_t event = 0; // the last one before it
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

class BegunCalls {
public:
  bool empty() const { return calls_.empty(); }
  const std::vector<BegunCall>& all() const { return calls_; }

  void add(const BegunCall& call) {
    const auto of_slot = [&](const BegunCall& other) { return other.slot == call.slot; };
    if (std::ranges::count_if(calls_, of_slot) >= kMost) calls_.erase(std::ranges::find_if(calls_, of_slot));
    calls_.push_back(call);
  }

  // The last one of the slot that has this kind; what began after it and never ended was left by a longjmp.
  BegunCall end(std::uint32_t slot, EventKind kind) {
    for (std::size_t i = calls_.size(); i-- > 0;) {
      if (calls_[i].slot != slot || calls_[i].kind != kind) continue;
      const BegunCall found = calls_[i];
      const auto first = calls_.begin() + static_cast<std::ptrdiff_t>(i);
      calls_.erase(std::remove_if(first, calls_.end(), [&](const BegunCall& call) { return call.slot == slot; }),
                   calls_.end());
      return found;
    }
    return {};
  }

  // Another thread has the slot.
  void forget(std::uint32_t slot) {
    std::erase_if(calls_, [&](const BegunCall& call) { return call.slot == slot; });
  }

  // The realloc under way that may end the block at this address and has not been seen to do so; null: none.
  BegunCall* realloc_of(std::uint64_t address) {
    const auto found = std::ranges::find_if(calls_, [&](const BegunCall& call) {
      return call.kind == EventKind::ReallocBegin && !call.released && call.address == address;
    });
    return found != calls_.end() ? &*found : nullptr;
  }

private:
  static constexpr std::ptrdiff_t kMost = 64; // of one slot, left behind by longjmp; older ones are dropped

  std::vector<BegunCall> calls_; // those of one slot in the order in which they began, each inside the one before it
};

} // namespace heaptape
