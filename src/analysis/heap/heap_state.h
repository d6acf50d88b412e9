// The heap at one moment, with all that is known of its blocks: what a replay carries along, what a keyframe holds, what a cursor
// shows. Gives the same totals as HeapModel, event for event. One thread at a time.
#pragma once

#include <cstdint>

#include "analysis/heap/block_map.h"
#include "analysis/heap/heap_totals.h"
#include "analysis/heap/mapping_set.h"
#include "analysis/heap/owner_table.h"
#include "tape/event.h"

namespace heaptape {

// What a Watch of HeapState::apply() may leave out by deriving from this.
struct IgnoreChanges {
  void made(const Block&) {}
  void ended(const Block&, const Event&) {}    // released, or replaced by a realloc
  void given_up(const Block&, const Event&) {} // the event made another block at its address
  void peaked(const Event&) {}                 // live bytes are higher than ever, after all the changes of this event
  void opened(const MappingPiece&, bool) {}    // see MappingSet
  void closed(const MappingPiece&) {}
};

class HeapState {
public:
  // Starts loading what apply() will need for this event.
  [[gnu::always_inline]] void prefetch(const Event& event) const {
    blocks_.prefetch(event.address);
    owners_.prefetch({event.stack, event.thread});
  }

  // Takes the next event in and tells `watch` what changed.
  template <class Watch>
  [[gnu::always_inline]] void apply(const Event& event, Watch& watch);
  void apply(const Event& event) {
    IgnoreChanges nobody;
    apply(event, nobody);
  }

  const HeapTotals& totals() const { return totals_; }
  const BlockMap& blocks() const { return blocks_; }
  const OwnerTable& owners() const { return owners_; }
  const MappingSet& mappings() const { return mappings_; }
  std::uint64_t unknown_unmaps() const { return unknown_unmaps_; }
  std::uint64_t event() const { return event_; } // number of the last event
  std::uint64_t time_us() const { return time_us_; }

private:
  friend class KeyframeCodec;

  [[gnu::always_inline]] void forget(const Block& block) {
    totals_.live_bytes -= block.size;
    --totals_.live_blocks;
  }
  template <class Watch>
  [[gnu::always_inline]] void make(const Event& event, Watch& watch);
  template <class Watch>
  void replace(const Block& block, const Event& event, Watch& watch);
  template <class Watch>
  [[gnu::always_inline]] void note_peak(const Event& event, Watch& watch) {
    if (totals_.live_bytes <= totals_.peak_bytes) return;
    totals_.peak_bytes = totals_.live_bytes;
    totals_.peak_event = event.number;
    totals_.peak_us = event.time_us;
    watch.peaked(event);
  }
  template <class Watch>
  void reallocate(const Event& event, Watch& watch);

  HeapTotals totals_;
  BlockMap blocks_;
  OwnerTable owners_;
  MappingSet mappings_;
  std::uint64_t unknown_unmaps_ = 0;
  std::uint64_t event_ = 0;
  std::uint64_t time_us_ = 0;
};

template <class Watch>
[[gnu::noinline]] void HeapState::replace(const Block& block, const Event& event, Watch& watch) {
  Block stale;
  if (blocks_.take(block.address, stale)) {
    forget(stale);
    ++totals_.collisions;
    watch.given_up(stale, event);
  }
  blocks_.insert(block);
}

template <class Watch>
inline void HeapState::make(const Event& event, Watch& watch) {
  const Block block{event.address, event.size, event.number, event.time_us,
                    owners_.number_of({event.stack, event.thread})};
  if (!blocks_.insert(block)) [[unlikely]]
    replace(block, event, watch);
  totals_.allocated_bytes += event.size;
  ++totals_.allocated_blocks;
  totals_.live_bytes += event.size;
  ++totals_.live_blocks;
  watch.made(block);
}

template <class Watch>
void HeapState::reallocate(const Event& event, Watch& watch) {
  Block old;
  bool had_old = false;
  if (event.old_address != 0 && !event.old_released) {
    had_old = blocks_.take(event.old_address, old);
    if (!had_old) ++totals_.unknown_releases;
  }
  // The old block leaves the map first (the new one may have its address) but the sums only together with the new one.
  if (event.address != 0) make(event, watch);
  if (had_old) {
    forget(old);
    watch.ended(old, event);
  }
  note_peak(event, watch);
}

template <class Watch>
inline void HeapState::apply(const Event& event, Watch& watch) {
  if (is_release(event.kind)) {
    Block block;
    if (event.address != 0 && blocks_.take(event.address, block)) [[likely]] {
      forget(block);
      watch.ended(block, event);
    } else {
      ++totals_.unknown_releases;
    }
  } else if (is_allocation(event.kind)) {
    if (event.address != 0) [[likely]] {
      make(event, watch);
      note_peak(event, watch);
    }
  } else if (is_reallocation(event.kind)) {
    reallocate(event, watch);
  } else if (is_mapping(event.kind)) {
    if (!mappings_.apply(event, watch)) ++unknown_unmaps_;
  }
  ++totals_.events;
  if (const auto kind = static_cast<std::size_t>(event.kind); kind < totals_.per_kind.size()) ++totals_.per_kind[kind];
  event_ = event.number;
  time_us_ = event.time_us;
}

} // namespace heaptape
