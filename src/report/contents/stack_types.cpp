#include "report/contents/stack_types.h"

namespace heaptape {

StackTypes::OfStack StackTypes::of(StackId stack) {
  const std::vector<FrameId> frames = names_.frames_of(stack);
  if (frames.empty()) return {};
  const std::size_t charged = charged_frame(plumbing_, frames);
  // Functions outside of the charged one allocate through it, but not what it allocates.
  for (std::size_t i = 0; i <= charged; ++i) {
    const AllocatedType& made = made_by(frames[i]);
    if (made.name.empty()) continue;
    // Without lines nobody knows what was inlined there.
    if (made.only_itself && (i != 0 || names_[frames[i]].line == 0)) continue;
    std::string type = made.name;
    if (type == kBuckets) {
      std::string container;
      for (std::size_t outer = i + 1; outer <= charged && container.empty(); ++outer)
        container = container_of(names_.full_name(frames[outer]));
      if (!container.empty()) type += " of " + container;
    }
    return {std::move(type), frames[charged]};
  }
  return {{}, frames[charged]};
}

const AllocatedType& StackTypes::made_by(FrameId frame) {
  if (made_.size() <= frame.value) made_.resize(names_.frame_count());
  std::optional<AllocatedType>& made = made_[frame.value];
  if (!made) made = allocated_type(names_.full_name(frame));
  return *made;
}

} // namespace heaptape
