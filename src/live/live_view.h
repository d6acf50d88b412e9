// What a follower of a recording knows about it: the heap by stack, with names. Fed by a TapeFollower. One thread at a
// time.
#pragma once

#include <cstdint>
#include <string>

#include "collector/events/event_watcher.h"
#include "live/live_heap.h"
#include "live/live_names.h"

namespace heaptape {

class LiveView final : public EventWatcher {
public:
  explicit LiveView(bool look_up = true) : names_(look_up) {}

  void on_modules(std::span<const Module> modules) override { names_.add_modules(modules); }
  void on_stacks(StackId first, std::span<const StackNode> nodes) override { names_.add_stacks(first, nodes); }
  void on_events(std::span<const Event> events) override {
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (i + LiveHeap::kAhead < events.size()) heap_.prefetch(events[i + LiveHeap::kAhead]);
      heap_.apply(events[i]);
    }
  }
  void on_mark(const Mark& mark) override { last_mark_ = mark.name; }
  WatcherWish on_round(std::uint64_t time_us) override {
    time_us_ = time_us;
    return {};
  }
  void on_end(const Summary&) override {}
  void on_nothing() override {}

  const LiveHeap& heap() const { return heap_; }
  LiveNames& names() { return names_; }
  std::uint64_t time_us() const { return time_us_; }
  const std::string& last_mark() const { return last_mark_; }

private:
  LiveHeap heap_;
  LiveNames names_;
  std::uint64_t time_us_ = 0;
  std::string last_mark_;
};

} // namespace heaptape
