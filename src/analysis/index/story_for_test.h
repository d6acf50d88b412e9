// A hand-made history of a program, told event by event. Each takes ten microseconds; thread 1 and stack 1 unless said otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/index/replay.h"
#include "tape/event.h"

namespace heaptape::test {

class Story {
public:
  Story& by(std::uint32_t thread, std::uint32_t stack) {
    thread_ = thread;
    stack_ = stack;
    return *this;
  }
  Story& wait_us(std::uint64_t us) {
    time_us_ += us;
    return *this;
  }
  Story& make(std::uint64_t address, std::uint64_t size, EventKind kind = EventKind::Malloc) {
    return step(kind, address, size);
  }
  Story& end(std::uint64_t address, EventKind kind = EventKind::Free) { return step(kind, address, 0); }
  Story& move(std::uint64_t old_address, std::uint64_t address, std::uint64_t size, bool old_released = false) {
    step(EventKind::Realloc, address, size);
    events_.back().old_address = old_address;
    events_.back().old_released = old_released;
    return *this;
  }
  Story& map(std::uint64_t address, std::uint64_t size, EventKind kind = EventKind::MmapAnonymous) {
    return step(kind, address, size);
  }
  // Without any access.
  Story& reserve(std::uint64_t address, std::uint64_t size) {
    step(EventKind::MmapAnonymous, address, size);
    events_.back().old_size = kReservedOnly;
    return *this;
  }
  Story& unmap(std::uint64_t address, std::uint64_t size) { return step(EventKind::Munmap, address, size); }
  Story& remap(std::uint64_t old_address, std::uint64_t old_size, std::uint64_t address, std::uint64_t size) {
    step(EventKind::Mremap, address, size);
    events_.back().old_address = old_address;
    events_.back().old_size = old_size;
    return *this;
  }

  Story& pool_make(std::uint64_t pool, std::uint64_t address, std::uint64_t size) {
    step(EventKind::PoolAlloc, address, size);
    events_.back().old_address = pool;
    return *this;
  }
  // Address 0: everything in the pool.
  Story& pool_end(std::uint64_t pool, std::uint64_t address) {
    step(EventKind::PoolFree, address, 0);
    events_.back().old_address = pool;
    return *this;
  }

  const std::vector<Event>& events() const { return events_; }
  Findings findings(ReplayOptions options = {}) const {
    options.events = events_.size();
    options.end_us = events_.empty() ? 0 : events_.back().time_us;
    Replay replay(options);
    replay.apply(events_);
    return replay.finish();
  }

private:
  Story& step(EventKind kind, std::uint64_t address, std::uint64_t size) {
    Event event;
    event.number = events_.size() + 1;
    event.time_us = time_us_ += 10;
    event.kind = kind;
    event.address = address;
    event.size = size;
    event.thread = ThreadId(thread_);
    event.stack = StackId(stack_);
    events_.push_back(event);
    return *this;
  }

  std::vector<Event> events_;
  std::uint64_t time_us_ = 0;
  std::uint32_t thread_ = 1, stack_ = 1;
};

} // namespace heaptape::test
