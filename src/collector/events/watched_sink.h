// A TapeSink with a watcher beside it: every event goes to both, to the watcher in batches. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collector/events/event_watcher.h"
#include "collector/events/mark_collector.h"
#include "collector/events/stack_folder.h"
#include "collector/events/tape_sink.h"
#include "tape/event.h"

namespace heaptape {

class WatchedSink {
public:
  // All must outlive it.
  WatchedSink(TapeSink& sink, const StackFolder& stacks, EventWatcher& watcher)
      : sink_(sink), stacks_(stacks), watcher_(watcher), batch_(kBatch) {}

  // Whose marks go with the events.
  void follow(const MarkCollector& marks) { marks_ = &marks; }

  void add(const Event& event, std::uint64_t allocated_at) {
    if (sink_.has_tape())
      sink_.add(event, allocated_at);
    else
      sink_.pass();
    batch_[count_] = event;
    if (++count_ == kBatch) hand_over();
  }

  // Gives the watcher what it has not seen yet.
  void hand_over();

private:
  static constexpr std::size_t kBatch = 2048;

  TapeSink& sink_;
  const StackFolder& stacks_;
  EventWatcher& watcher_;
  const MarkCollector* marks_ = nullptr;
  std::vector<Event> batch_;
  std::size_t count_ = 0;
  std::uint32_t stacks_seen_ = 0;
  std::uint64_t marks_seen_ = 0;
  std::vector<StackNode> nodes_;
};

} // namespace heaptape
