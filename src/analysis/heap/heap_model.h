// The heap as the events tell it: which blocks are live, and the totals. The same code runs in the collector while recording
// and over tapes afterwards, so both agree to the byte. One thread at a time.
#pragma once

#include <cstdint>

#include "analysis/heap/heap_totals.h"
#include "analysis/heap/live_map.h"
#include "tape/event.h"
#include "wire/event_kind.h"

namespace heaptape {

class HeapModel {
public:
  const HeapTotals& totals() const { return totals_; }
  const LiveMap& live() const { return live_; }

  // Starts loading what apply() will need for an event at this address.
  [[gnu::always_inline]] void prefetch(std::uint64_t address) const { live_.prefetch(address); }

  // Takes the next event in. The result is the number of the event that made the block which this one releases or replaces;
  // 0: none, or unknown. A realloc is one step: its old and new block never count together.
  std::uint64_t apply(const Event& event) {
    Event copy = event;
    return apply(copy, [](Event&) {});
  }

  // As above. When the event makes a block at an address that is live, calls on_collision(event) first; that may apply other
  // events (a late release of the address, say) and may change the event's number. Whatever block is still there
  // afterwards is given up.
  template <class OnCollision>
  std::uint64_t apply(Event& event, OnCollision&& on_collision);

  // apply() for an event that is known to be an allocation, address not 0.
  template <class OnCollision>
  [[gnu::always_inline]] void allocate(Event& event, OnCollision&& on_collision) {
    make_live(event, on_collision);
    note_peak(event);
    count(event);
  }

  // apply() for a release, if its block is live; else false, and nothing changes.
  [[gnu::always_inline]] bool try_release(const Event& event, std::uint64_t& allocated_at) {
    LiveBlock block;
    // No block is ever at address 0, but bytes from a damaged tape or a hostile program may say so.
    if (event.address == 0 || !live_.take(event.address, block)) [[unlikely]]
      return false;
    forget(block);
    allocated_at = block.allocated_at;
    count(event);
    return true;
  }

  bool is_live(std::uint64_t address) const { return live_.find(address).has_value(); }

private:
  static constexpr std::size_t index(EventKind kind) { return static_cast<std::size_t>(kind); }

  template <class OnCollision>
  void make_live(Event& event, OnCollision&& on_collision);
  // Puts a block where one may still be, and gives that one up.
  void replace(const Event& event);
  void count(const Event& event) {
    ++totals_.events;
    if (index(event.kind) < totals_.per_kind.size()) ++totals_.per_kind[index(event.kind)];
  }
  void forget(const LiveBlock& block) {
    totals_.live_bytes -= block.size;
    --totals_.live_blocks;
  }
  void note_peak(const Event& event) {
    if (totals_.live_bytes <= totals_.peak_bytes) return;
    totals_.peak_bytes = totals_.live_bytes;
    totals_.peak_event = event.number;
    totals_.peak_us = event.time_us;
  }

  LiveMap live_;
  HeapTotals totals_;
};

template <class OnCollision>
[[gnu::always_inline]] inline void HeapModel::make_live(Event& event, OnCollision&& on_collision) {
  if (!live_.insert(event.address, LiveBlock{event.size, event.number})) [[unlikely]] {
    on_collision(event);
    replace(event);
  }
  totals_.allocated_bytes += event.size;
  ++totals_.allocated_blocks;
  totals_.live_bytes += event.size;
  ++totals_.live_blocks;
}

template <class OnCollision>
std::uint64_t HeapModel::apply(Event& event, OnCollision&& on_collision) {
  std::uint64_t allocated_at = 0;
  if (is_release(event.kind)) {
    if (try_release(event, allocated_at)) return allocated_at;
    ++totals_.unknown_releases;
  } else if (is_allocation(event.kind)) {
    if (event.address != 0) {
      allocate(event, on_collision);
      return 0;
    }
  } else if (is_reallocation(event.kind)) {
    LiveBlock old;
    bool had_old = false;
    if (event.old_address != 0 && !event.old_released) {
      had_old = live_.take(event.old_address, old);
      if (had_old)
        allocated_at = old.allocated_at;
      else
        ++totals_.unknown_releases;
    }
    // The old block leaves the map first (the new one may have its address) but the sums only together with the new one.
    if (event.address != 0) make_live(event, on_collision);
    if (had_old) forget(old);
    note_peak(event);
  }
  count(event);
  return allocated_at;
}

} // namespace heaptape
