// The books of the heap: which blocks are live, and the totals, exact after every event. There is one state machine for all who keep
// them, so that all agree to the byte; they differ in what they remember of a block (the Store) and in what they want to hear (the
// listener). One thread at a time.
//
//   HeapModel   the collector, and checks of tapes     size and number of the event that made it
//   HeapState   a replay                               all that is known: address, size, event, time, owner
//   LiveHeap    the view of a running program          size, and the row of the stack that made it
//
// What an event does, in this order:
//
//   release      The block ends. One that is not in the store is counted as unknown.
//   allocation   The block is made; then the live bytes may be a new peak.
//   realloc      The old block leaves the store and the new one enters it, for both may have the same address. Then the old one ends,
//                the new one is made, and the live bytes may be a new peak: the two never count together.
//   collision    A block enters the store where one is live: the release of that one comes late or is lost. The listener may set it
//                right (collides); a block that is there still is given up.
//   others       They are only counted.
//
// A Store has a type Block with at least a size, and
//   Block block_of(const Event&)               what it remembers of the block that an event makes
//   bool insert(address, const Block&)         false: there is one
//   bool take(address, Block&)                 false: there is none
#pragma once

#include <cstddef>
#include <cstdint>

#include "analysis/heap/heap_totals.h"
#include "tape/event.h"
#include "wire/event_kind.h"

namespace heaptape {

// What a listener may leave out by deriving from this.
struct BlockListener {
  void collides(const Event&) {} // may apply other events, and may change the number of this one if that is not const
  void made(const auto& /*block*/) {}
  void ended(const auto& /*block*/, const Event&) {}    // released, or replaced by a realloc
  void given_up(const auto& /*block*/, const Event&) {} // the event made another block at its address
  void peaked(const Event&) {} // live bytes are higher than ever, after all changes of this event
};

template <class Store>
class HeapLedger {
public:
  using Block = typename Store::Block;

  const HeapTotals& totals() const { return totals_; }
  const Store& store() const { return store_; }
  // To put back what they held at some moment.
  HeapTotals& totals() { return totals_; }
  Store& store() { return store_; }

  // Takes the next event in; false when it is none of the heap. AnyEvent is Event or const Event.
  template <class AnyEvent, class Listener>
  [[gnu::always_inline]] bool apply(AnyEvent& event, Listener& listener) {
    bool of_heap = true;
    if (is_release(event.kind)) {
      if (!end(event, listener)) [[unlikely]]
        ++totals_.unknown_releases;
    } else if (is_allocation(event.kind)) {
      if (event.address != 0) [[likely]]
        make(event, listener);
    } else if (is_reallocation(event.kind)) {
      remake(event, listener);
    } else {
      of_heap = false;
    }
    count(event);
    return of_heap;
  }

  // apply() for an event that is known to be an allocation, address not 0.
  template <class AnyEvent, class Listener>
  [[gnu::always_inline]] void allocate(AnyEvent& event, Listener& listener) {
    make(event, listener);
    count(event);
  }

  // apply() for a release, if its block is live; else false, and nothing changes.
  template <class Listener>
  [[gnu::always_inline]] bool try_release(const Event& event, Listener& listener) {
    if (!end(event, listener)) [[unlikely]]
      return false;
    count(event);
    return true;
  }

private:
  template <class Listener>
  [[gnu::always_inline]] bool end(const Event& event, Listener& listener) {
    Block block;
    // No block is ever at address 0, but bytes from a damaged tape or a hostile program may say so.
    if (event.address == 0 || !store_.take(event.address, block)) [[unlikely]]
      return false;
    subtract(block);
    listener.ended(block, event);
    return true;
  }

  template <class AnyEvent, class Listener>
  [[gnu::always_inline]] void make(AnyEvent& event, Listener& listener) {
    const Block block = enter(event, listener);
    add(block);
    listener.made(block);
    note_peak(event, listener);
  }

  template <class AnyEvent, class Listener>
  void remake(AnyEvent& event, Listener& listener) {
    Block old;
    bool had_old = false;
    if (event.old_address != 0 && !event.old_released) {
      had_old = store_.take(event.old_address, old);
      if (!had_old) ++totals_.unknown_releases;
    }
    Block block;
    if (event.address != 0) block = enter(event, listener);
    if (had_old) {
      subtract(old);
      listener.ended(old, event);
    }
    if (event.address != 0) {
      add(block);
      listener.made(block);
    }
    note_peak(event, listener);
  }

  // Puts the event's block into the store.
  template <class AnyEvent, class Listener>
  [[gnu::always_inline]] Block enter(AnyEvent& event, Listener& listener) {
    const Block block = store_.block_of(event);
    if (!store_.insert(event.address, block)) [[unlikely]]
      return replace(event, listener);
    return block;
  }

  template <class AnyEvent, class Listener>
  [[gnu::noinline]] Block replace(AnyEvent& event, Listener& listener) {
    listener.collides(event);
    if (Block stale; store_.take(event.address, stale)) {
      subtract(stale);
      ++totals_.collisions;
      listener.given_up(stale, event);
    }
    const Block block = store_.block_of(event); // the event may have another number now
    store_.insert(event.address, block);
    return block;
  }

  [[gnu::always_inline]] void add(const Block& block) {
    totals_.allocated_bytes += block.size;
    ++totals_.allocated_blocks;
    totals_.live_bytes += block.size;
    ++totals_.live_blocks;
  }
  [[gnu::always_inline]] void subtract(const Block& block) {
    totals_.live_bytes -= block.size;
    --totals_.live_blocks;
  }
  template <class Listener>
  [[gnu::always_inline]] void note_peak(const Event& event, Listener& listener) {
    if (totals_.live_bytes <= totals_.peak_bytes) return;
    totals_.peak_bytes = totals_.live_bytes;
    totals_.peak_event = event.number;
    totals_.peak_us = event.time_us;
    listener.peaked(event);
  }
  [[gnu::always_inline]] void count(const Event& event) {
    ++totals_.events;
    const auto kind = static_cast<std::size_t>(event.kind);
    if (kind < totals_.per_kind.size()) ++totals_.per_kind[kind];
  }

  HeapTotals totals_;
  Store store_;
};

} // namespace heaptape
