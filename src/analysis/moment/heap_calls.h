// Which stacks called the allocator, and which samples of CPU time were taken inside such a call.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "tape/contents.h"
#include "tape/reader.h"

namespace heaptape {

struct HeapCallCount {
  std::uint64_t allocations = 0; // reallocations among them
  std::uint64_t releases = 0;
  friend bool operator==(const HeapCallCount&, const HeapCallCount&) = default;
};
using HeapCalls = std::unordered_map<StackId, HeapCallCount>;

// By stack; mappings are left out. Reads all events once, on all processors.
HeapCalls count_heap_calls(const TapeReader& tape);

// The innermost call of the allocator that a sample's stack is inside of, as the stack of that call's event; 0: it is
// inside none. A stack is the return addresses of the calls under way, so a sample is inside a call exactly when the
// call's stack is an outer part of its own.
StackId heap_call_around(const std::vector<StackNode>& stacks, const HeapCalls& calls, StackId sample);

} // namespace heaptape
