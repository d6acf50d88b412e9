#include "report/contents/stack_bounds.h"

#include <algorithm>
#include <cstdlib>

namespace heaptape {

StackBounds stack_bounds(const TapeReader& tape, const SnapshotMemory& memory, const ThreadState& thread,
                         const std::optional<Block>& block) {
  StackBounds bounds;
  const std::uint64_t sp = thread[ThreadState::Rsp], fs = thread[ThreadState::FsBase];
  const MappedRange* const region = memory.region_at(sp);
  if (region == nullptr) return bounds;
  bounds.begin = region->begin;
  bounds.end = region->end;
  const bool is_first = memory.name_of(*region).starts_with("[stack");
  // The C library puts the variables of a thread that it makes on top of its stack.
  const bool is_threads = !is_first && fs > sp && fs < region->end;
  if (is_threads) bounds.end = fs;
  bounds.other = !is_first && !is_threads;
  if (bounds.other && block) {
    bounds.begin = block->address;
    bounds.end = block->address + block->size;
  }
  bounds.used_bytes = bounds.end - std::min(sp, bounds.end);
  if (is_first) {
    if (const auto limit = tape.meta().find("stack_limit"); limit != tape.meta().end())
      bounds.limit_bytes = std::strtoull(limit->second.c_str(), nullptr, 10);
  } else {
    bounds.limit_bytes = bounds.end - bounds.begin;
  }
  if (bounds.other && block) return bounds; // its pages are also those of other blocks
  const MemoryImage& image = memory.image();
  for (std::size_t i = image.run_behind(bounds.begin); i < image.runs().size(); ++i) {
    const PageRun& run = image.runs()[i];
    if (run.begin >= bounds.end) break;
    if (run.state == PageState::None || run.state == PageState::Zero) continue;
    bounds.touched_bytes = bounds.end - std::max(run.begin, bounds.begin);
    break;
  }
  return bounds;
}

} // namespace heaptape
