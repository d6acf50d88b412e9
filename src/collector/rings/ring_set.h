// All rings of a program, merged by time into one stream. Works in rounds: read what is ready, find the moment up to which
// nothing earlier can still appear, hand on everything up to it. One thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collector/rings/shared_memory.h"
#include "collector/rings/slot_reader.h"
#include "collector/rings/thread_list.h"
#include "collector/rings/tick_clock.h"

namespace heaptape {

// Receives the merged stream, in batches.
class ItemConsumer {
public:
  // The items are in order, and all are later than any handed over before (but for a clock's quirks). They may be changed.
  virtual void consume(std::span<RingItem> items) = 0;

protected:
  ~ItemConsumer() = default;
};

struct RingSetOptions {
  std::size_t most_queued = std::size_t{1} << 20; // items held back while a thread stays inside a hook
  std::uint64_t stuck_ns = 2'000'000'000;         // with the queues full for this long, go on without that thread
  std::uint64_t margin_us = 100;                  // where the kernel has no global barrier
};

struct Round {
  std::size_t read = 0;      // records taken out of rings
  bool more = false;         // there was more than one round takes
  std::uint64_t fullest = 0; // at least as many records waited in the fullest ring, scaled to the first one's length
  std::size_t rings = 0;     // that are in use
};

class RingSet {
public:
  // How far a repair searches each ring. In an honest ring it finds its record much sooner; a hostile one could demand a
  // search for every event.
  static constexpr std::size_t kMostLookedAt = 16384;

  RingSet(const SharedMemory& memory, ThreadList& threads, RingSetOptions options = {});

  // One round. Wakes threads that wait for space.
  Round round(const TickClock& clock, ItemConsumer& consumer);

  // The same without waiting for threads inside a hook: a debugger may have stopped one there. What such a thread has
  // not published yet comes later, with an earlier stamp than what is handed over now. No other thread can have acted
  // on it, so the order is still one that could have happened.
  Round round_at_once(const TickClock& clock, ItemConsumer& consumer);

  // Everything that happened up to this moment has been handed over.
  std::uint64_t handed_over_until() const { return last_safe_; }

  // After the program's end: everything that is ready, whatever the time. `now`: when threads ended that had not left before.
  void finish(ItemConsumer& consumer, std::uint64_t now = 0);

  // Gives up slots whose thread is gone without having said so; `is_gone(tid)` asks the kernel. Looks at no more than
  // `most` slots, because each costs a system call; the next call continues after them.
  template <class IsGone>
  void reap(std::size_t most, IsGone&& is_gone) {
    for (std::size_t i = std::min(most, active_.size()); i > 0; --i) {
      SlotReader& reader = *readers_[active_[next_reaped_++ % active_.size()]];
      if (reader.tid() != 0 && is_gone(reader.tid())) mark_exiting(reader);
    }
  }

  // The earliest item that has not been handed over, lies at or before `until` and satisfies `matches`; nullptr when there is
  // none, as far as kMostLookedAt items of each ring tell. For repairs, see EventBuilder.
  template <class Matches>
  RingItem* find_ahead(std::uint64_t until, Matches&& matches) {
    RingItem* best = nullptr;
    for (std::uint32_t index : active_) {
      const std::span<RingItem> items = readers_[index]->queue().items();
      for (RingItem& item : items.first(std::min(items.size(), kMostLookedAt))) {
        if (item.time() > until || (best != nullptr && item.time() >= best->time())) break;
        if (!matches(item)) continue;
        best = &item;
        break;
      }
    }
    return best;
  }

  std::uint64_t queued() const { return queued_; }
  std::uint64_t holes() const;
  // Rounds that went on without a thread that stayed inside a hook for too long.
  std::uint64_t forced_rounds() const { return forced_rounds_; }

private:
  void find_slots();
  void activate(std::uint32_t index);
  bool is_claimed(std::uint32_t index) const;
  bool is_active(std::uint32_t index) const {
    return (active_bits_[index / wire::kSlotsPerClaim] & wire::claim_bit(index)) != 0;
  }
  void mark_exiting(SlotReader& reader);
  void settle(SlotReader& reader);
  std::size_t share_of_round() const;
  std::uint64_t fill_of(const SlotReader& reader) const;
  bool read_only_ring(Round& round, ItemConsumer& consumer);
  std::uint64_t read_all(const TickClock& clock, Round& round);
  std::uint64_t read_one(SlotReader& reader, std::uint64_t now, Round& round);
  bool is_stalled(SlotReader& reader) const;
  bool is_stuck();
  void hand_over(std::uint64_t until, ItemConsumer& consumer);
  void merge(std::uint64_t until, ItemConsumer& consumer);
  void drop_idle();
  void wake_waiting();

  const SharedMemory& memory_;
  ThreadList& threads_;
  RingSetOptions options_;
  std::vector<std::unique_ptr<SlotReader>> readers_; // by slot index; empty until the slot is first used
  std::vector<std::uint32_t> active_;                // slots in use, or with items still queued
  std::vector<std::uint64_t> active_bits_;           // the same, laid out as the program's claims
  std::vector<std::uint64_t> idle_since_;            // per slot: nothing can still appear that is older than this
  std::vector<bool> passed_by_; // per slot: its thread stayed inside a hook for too long; the others go on
  std::vector<RingItem> batch_;
  std::size_t next_reaped_ = 0;
  std::uint64_t queued_ = 0;
  std::uint64_t last_safe_ = 0;
  std::uint64_t held_since_ns_ = 0;
  std::uint64_t forced_rounds_ = 0;
  std::uint32_t rounds_ = 0; // what `drained` in the header is to say
  bool at_once_ = false;     // the round at hand is one of round_at_once()
};

} // namespace heaptape
