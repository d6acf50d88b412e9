#include "collector/events/watched_sink.h"

#include <algorithm>
#include <span>

namespace heaptape {

void WatchedSink::hand_over() {
  if (stacks_.count() != stacks_seen_) {
    nodes_.clear();
    for (std::uint32_t id = stacks_seen_ + 1; id <= stacks_.count(); ++id) nodes_.push_back(stacks_.node(StackId(id)));
    watcher_.on_stacks(StackId(stacks_seen_ + 1), nodes_);
    stacks_seen_ = stacks_.count();
  }
  std::span<const Event> rest(batch_.data(), count_);
  count_ = 0;
  if (marks_ != nullptr && marks_->made() != marks_seen_) {
    // Those that were taken away since the last time are not seen; the recording takes them after a hand-over only.
    const std::vector<Mark>& marks = marks_->waiting();
    const std::uint64_t first = marks_->made() - marks.size();
    for (std::uint64_t number = std::max(first, marks_seen_); number < marks_->made(); ++number) {
      const Mark& mark = marks[static_cast<std::size_t>(number - first)];
      std::size_t before = 0;
      while (before < rest.size() && rest[before].number <= mark.event) ++before;
      if (before != 0) watcher_.on_events(rest.first(before));
      rest = rest.subspan(before);
      watcher_.on_mark(mark);
    }
    marks_seen_ = marks_->made();
  }
  if (!rest.empty()) watcher_.on_events(rest);
}

} // namespace heaptape
