// The bodies of EventBuilder that put events back in order where the stamps of two threads disagree (event_builder.h lists the cases).
// Part of event_builder_impl.h.
#pragma once

#include "collector/events/event_builder.h"

namespace heaptape {

// An allocation gets an address that a block from a pause has: the release of that one is stamped a little later, and
// is not an event anyway.
template <class Sink>
[[gnu::noinline]] void EventBuilder<Sink>::make_room_among_paused(const RingItem& item) {
  if (!paused_.take(item.address())) return;
  const std::uint64_t until = item.time() + clock_.ticks_of_us(windows_.late_release_us);
  RingItem* late = find_ahead(until, [&](const RingItem& other) {
    return other.slot != item.slot && other.address() == item.address() && is_release(other.kind());
  });
  if (late == nullptr) return;
  ++reordered_;
  late->erase();
}

// Writes a release under the number that `of` had, and gives that one the next.
template <class Sink>
void EventBuilder<Sink>::put_in_front(Event release, Event& of) {
  release.number = of.number;
  release.time_us = of.time_us;
  EndedBlock ended;
  if (!model_.try_release(release, ended)) return;
  sink_.add(release, ended.allocated_at);
  of.number = ++count_;
}

template <class Sink>
[[gnu::noinline]] void EventBuilder<Sink>::make_room(Event& event, std::uint32_t slot, std::uint64_t time) {
  const std::uint64_t address = event.address;
  const std::uint64_t until = time + clock_.ticks_of_us(windows_.late_release_us);
  Event release;
  release.address = address;
  release.kind = EventKind::ReallocRelease;
  if (BegunCall* const begun = begun_.realloc_of(address); begun != nullptr) {
    begun->released = true;
    release.thread = ThreadId(begun->thread);
    release.stack = begun->stack;
    return put_in_front(release, event);
  }
  RingItem* late = find_ahead(until, [&](const RingItem& item) {
    return item.slot != slot && item.address() == address &&
           (is_release(item.kind()) || (item.kind() == EventKind::ReallocBegin && (item.word0 & kReleasedBit) == 0));
  });
  if (late == nullptr) return;
  ++reordered_;
  release.thread = ThreadId(late->thread);
  if (late->kind() == EventKind::ReallocBegin) {
    release.stack = stacks_.fold(late->stack());
    late->word0 |= kReleasedBit;
  } else {
    release.kind = late->kind();
    release.stack = stacks_.fold(late->stack());
    late->erase();
  }
  put_in_front(release, event);
}

// Takes an item in ahead of its turn, as if it had happened at `time`.
template <class Sink>
[[gnu::noinline]] void EventBuilder<Sink>::take_in_early(RingItem& item, std::uint64_t time) {
  RingItem copy = item;
  copy.word0 = time << 8 | (item.word0 & (wire::kKindMask | kReleasedBit));
  item.erase();
  ++repairs_;
  take_in(copy);
  --repairs_;
}

template <class Sink>
[[gnu::noinline]] void EventBuilder<Sink>::end_realloc_in_place(const RingItem& release) {
  const BegunCall* const begun = begun_.realloc_of(release.address());
  if (begun == nullptr || begun->slot == release.slot || repairs_ == kMostRepairs) return;
  const std::uint64_t until = release.time() + clock_.ticks_of_us(windows_.early_release_us);
  RingItem* end = find_ahead(until, [&](const RingItem& item) {
    return item.slot == begun->slot && (is_reallocation(item.kind()) || item.kind() == EventKind::PausedRealloc ||
                                        item.kind() == EventKind::ReallocFailed);
  });
  if (end == nullptr || (end->kind() != EventKind::ReallocFailed && end->address() != release.address())) return;
  ++reordered_;
  take_in_early(*end, release.time());
}

template <class Sink>
void EventBuilder<Sink>::look_for_maker(const RingItem& release) {
  if (repairs_ == kMostRepairs) return;
  const std::uint64_t until = release.time() + clock_.ticks_of_us(windows_.early_release_us);
  RingItem* maker = find_ahead(until, [&](const RingItem& item) {
    return item.slot != release.slot && item.address() == release.address() &&
           (is_allocation(item.kind()) || is_reallocation(item.kind()) || item.kind() == EventKind::PausedAlloc ||
            item.kind() == EventKind::PausedRealloc);
  });
  if (maker == nullptr) return;
  ++reordered_;
  if (is_reallocation(maker->kind()) || maker->kind() == EventKind::PausedRealloc) {
    RingItem* first_half = find_ahead(maker->time(), [&](const RingItem& item) {
      return item.slot == maker->slot && item.kind() == EventKind::ReallocBegin;
    });
    if (first_half != nullptr) take_in_early(*first_half, release.time());
  }
  take_in_early(*maker, release.time());
}

} // namespace heaptape
