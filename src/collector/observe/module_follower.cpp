#include "collector/observe/module_follower.h"

#include <algorithm>
#include <cstring>

namespace heaptape {

namespace {

// The entry's fields, copied once: the original is the program's and may change at any time.
struct EntryCopy {
  std::uint32_t path_size;
  std::uint64_t ticks, load_bias, start, end;
  std::uint32_t segment_count, build_id_size;
  std::uint8_t build_id[32];
  wire::ModuleEntry::Segment segments[wire::kMaxSegments];
};

EntryCopy copy_of(const wire::ModuleEntry& entry) {
  EntryCopy copy{};
  copy.path_size = entry.path_size;
  copy.ticks = entry.ticks;
  copy.load_bias = entry.load_bias;
  copy.start = entry.start;
  copy.end = entry.end;
  copy.segment_count = entry.segment_count;
  copy.build_id_size = entry.build_id_size;
  std::memcpy(copy.build_id, entry.build_id, sizeof copy.build_id);
  std::memcpy(copy.segments, entry.segments, sizeof copy.segments);
  return copy;
}

} // namespace

std::vector<Module> ModuleFollower::take_new(std::uint64_t used, const std::string& executable,
                                             const TickClock& clock) {
  std::vector<Module> found;
  const std::uint64_t end = std::min(used, wire::kModuleLogBytes);
  while (!damaged_ && position_ + sizeof(wire::ModuleEntry) <= end) {
    const auto& entry = *reinterpret_cast<const wire::ModuleEntry*>(log_ + position_);
    const std::uint32_t size = entry.size.load(std::memory_order_acquire); // pairs with the store that completes it
    if (size == 0) break;
    const EntryCopy copy = copy_of(entry);
    if (size % 8 != 0 || size < sizeof(wire::ModuleEntry) || size > end - position_ ||
        copy.path_size > size - sizeof(wire::ModuleEntry) || copy.segment_count > wire::kMaxSegments ||
        copy.build_id_size > sizeof copy.build_id) {
      damaged_ = true;
      break;
    }
    Module module;
    module.path.assign(reinterpret_cast<const char*>(log_ + position_ + sizeof(wire::ModuleEntry)), copy.path_size);
    if (module.path.empty()) module.path = executable;
    module.build_id.assign(copy.build_id, copy.build_id + copy.build_id_size);
    module.load_bias = copy.load_bias;
    module.start = copy.start;
    module.end = copy.end;
    module.first_seen_us = clock.plain_us(copy.ticks);
    for (std::uint32_t i = 0; i < copy.segment_count; ++i) {
      const auto& segment = copy.segments[i];
      module.segments.push_back(
          {segment.address, segment.size, segment.file_offset, static_cast<std::uint32_t>(segment.flags)});
    }
    found.push_back(std::move(module));
    position_ += size;
  }
  return found;
}

} // namespace heaptape
