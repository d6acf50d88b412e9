#include "report/names/stack_paths.h"

namespace heaptape {

std::string_view without_clone_suffix(std::string_view linkage_name) {
  const std::size_t dot = linkage_name.find('.', 1);
  return dot == linkage_name.npos ? linkage_name : linkage_name.substr(0, dot);
}

PathId StackPaths::path_of(StackNames& names, StackId stack) {
  const std::vector<FrameId> frames = names.frames_of(stack);
  PathId path;
  for (std::size_t i = frames.size(); i-- > 0;) {
    const std::uint64_t key = std::uint64_t{path.value} << 32 | number_of(names, names[frames[i]]);
    path = paths_.try_emplace(key, PathId(static_cast<std::uint32_t>(paths_.size() + 1))).first->second;
  }
  return path;
}

std::uint32_t StackPaths::number_of(const StackNames& names, const NamedFrame& frame) {
  const std::string_view name =
      frame.linkage_name.empty() ? names.text(frame.function) : without_clone_suffix(frame.linkage_name);
  return names_.try_emplace(std::string(name), static_cast<std::uint32_t>(names_.size())).first->second;
}

} // namespace heaptape
