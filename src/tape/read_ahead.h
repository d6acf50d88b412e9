// Walks over the events of a tape while a thread of its own decodes the next ones: a pass over a whole tape then takes
// as long as the slower of decoding and whatever is done with the events. On a machine with one processor it decodes as
// it goes. One thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <semaphore>
#include <span>
#include <thread>
#include <vector>

#include "tape/reader.h"

namespace heaptape {

class ReadAhead {
public:
  // The tape must outlive it.
  explicit ReadAhead(EventCursor cursor);
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  ~ReadAhead();

  // The next events, as many as are decoded; empty at the end. Valid until the next call.
  std::span<const Event> next_run();

  // Gives nothing more, and waits until nothing more is decoded. What next_run() gave last stays valid.
  void stop();

  // The cursor that was given, for what it says of damage; only after next_run() gave nothing, or stop(). Then it may
  // be a few thousand events ahead of what was given.
  const EventCursor& cursor() const { return cursor_; }

private:
  static constexpr std::size_t kSlots = 8;
  static constexpr std::size_t kRun = 1024; // events: long enough to hand over, short enough for the cache
  struct Slot {
    std::vector<Event> room;
    std::span<const Event> events; // empty: the end
  };

  void decode();

  EventCursor cursor_;
  std::vector<Slot> slots_;
  std::counting_semaphore<kSlots> empty_{kSlots};
  std::counting_semaphore<kSlots> full_{0};
  std::atomic<bool> stop_ = false;
  std::size_t next_ = 0; // slot to be given
  bool holding_ = false; // the caller has the slot before it
  bool ended_ = false;
  std::thread decoder_;
};

} // namespace heaptape
