#include "analysis/moment/heap_calls.h"

#include "tape/parallel_events.h"

namespace heaptape {

HeapCalls count_heap_calls(const TapeReader& tape) {
  HeapCalls all;
  const auto look = [](HeapCalls& part, std::span<const Event> events) {
    for (const Event& event : events) {
      if (event.stack.value == 0) continue;
      if (is_allocation(event.kind) || is_reallocation(event.kind))
        ++part[event.stack].allocations;
      else if (is_release(event.kind) && event.kind != EventKind::ReallocRelease) // which is part of a realloc
        ++part[event.stack].releases;
    }
  };
  parallel_events<HeapCalls>(tape, {}, look, [&](const HeapCalls& part) {
    for (const auto& [stack, count] : part) {
      all[stack].allocations += count.allocations;
      all[stack].releases += count.releases;
    }
  });
  return all;
}

StackId heap_call_around(const std::vector<StackNode>& stacks, const HeapCalls& calls, StackId sample) {
  bool innermost = true; // where the thread was, which is not a call
  while (sample.value != 0 && sample.value < stacks.size()) {
    if (!innermost && calls.contains(sample)) return sample;
    innermost = false;
    const StackId parent = stacks[sample.value].parent;
    if (parent.value >= sample.value) break; // never on a good tape
    sample = parent;
  }
  return StackId();
}

} // namespace heaptape
