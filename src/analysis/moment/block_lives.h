// Every block that ever lived, one after another, with its end: first those that ended, in the order of their ends,
// then those that were still live, in the order in which they were made. Takes one pass over the events and memory for
// the live blocks. The tape must outlive it. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "analysis/heap/heap_state.h"
#include "analysis/heap/live_map.h"
#include "tape/reader.h"

namespace heaptape {

struct BlockLife {
  Block block{};
  Owner owner{};
  EventKind kind = EventKind::None; // of the event that made it; None when BlockLives was not asked for kinds
  bool freed = false;     // released, replaced by a realloc, or given up because its address was allocated again
  bool temporary = false; // released by the thread that made it, as its very next event
  std::uint64_t freed_event = 0, freed_us = 0;
  ThreadId freed_thread{};
  StackId freed_stack{};

  friend bool operator==(const BlockLife&, const BlockLife&) = default;
};

struct BlockLivesOptions {
  bool kinds = false;
  // Only blocks made by these events; reading begins with the first of them and ends when all of them have ended.
  std::uint64_t first_made = 1, last_made = std::numeric_limits<std::uint64_t>::max();
  // The tape seems to end after this event.
  std::uint64_t until = std::numeric_limits<std::uint64_t>::max();
};

class BlockLives {
public:
  BlockLives(const TapeReader& tape, const BlockLivesOptions& options);

  // nullptr at the end. Valid until the next call.
  const BlockLife* next() {
    while (at_ == ready_.size() && refill()) {}
    if (at_ == ready_.size()) return nullptr;
    return &ready_[at_++];
  }
  // As next(), but gives up after some thousands of events, in case the user wants to stop: nullptr means "not yet"
  // unless at_end().
  const BlockLife* try_next() {
    if (at_ == ready_.size()) refill();
    return at_ == ready_.size() ? nullptr : &ready_[at_++];
  }
  bool at_end() const { return done_ && at_ == ready_.size(); }

  // Number of the last event read.
  std::uint64_t event() const { return state_.event(); }
  const std::vector<Damage>& damage() const { return events_.damage(); }

private:
  struct Listener;
  bool refill();
  void list_live();
  bool is_wanted(const Block& block) const {
    return block.event >= options_.first_made && block.event <= options_.last_made;
  }
  std::uint64_t& last_event_of(ThreadId thread);
  void remember_kind(const Block& block, EventKind kind);
  EventKind take_kind(const Block& block);
  void end(const Block& block, const Event& event, bool released);

  BlockLivesOptions options_;
  EventCursor events_;
  HeapState state_;
  LiveMap kinds_;                          // the kind in place of the size
  std::vector<std::uint64_t> last_events_; // by thread
  std::unordered_map<ThreadId, std::uint64_t> far_last_events_;
  std::uint64_t wanted_live_ = 0;
  std::vector<BlockLife> ready_;
  std::size_t at_ = 0;
  bool done_ = false;
};

} // namespace heaptape
