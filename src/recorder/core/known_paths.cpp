#include "recorder/core/known_paths.h"

namespace heaptape::recorder {

KnownPath& KnownPaths::make_room(std::uint64_t pc, std::uint64_t slot) noexcept {
  const std::uint64_t mixed = mix(pc, slot);
  PathHead& head = heads_[head_index(mixed)];
  if (head.pc != pc || head.slot != slot) {
    head = {pc, slot, 0, 0};
    return paths_[path_index(head, mixed)];
  }
  KnownPath& path = paths_[path_index(head, mixed)];
  if (path.pc != pc || path.slot != slot) return path;
  for (std::size_t i = 0; i < path.frames; ++i) {
    const std::uint32_t offset = path.offsets[i];
    if (load(slot + offset) == path.values[i]) continue;
    if (offset == head.near || offset == head.far) break;
    head.far = head.near;
    head.near = offset;
    break;
  }
  return paths_[path_index(head, mixed)];
}

} // namespace heaptape::recorder
