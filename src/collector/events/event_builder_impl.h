// The bodies of EventBuilder, for the few files that make one.
#pragma once

#include <algorithm>

#include "collector/events/event_builder.h"
#include "collector/events/event_builder_odd.h"
#include "collector/events/event_builder_repairs.h"

namespace heaptape {

template <class Sink>
void EventBuilder<Sink>::consume(std::span<RingItem> items) {
  constexpr std::size_t kAhead = 12; // far enough for a miss to memory, near enough to stay in the first cache
  RingItem* const end = items.data() + items.size();
  const RingItem* const last = end - 1;
  rest_end_ = end;
  for (RingItem* item = items.data(); item != end; ++item) {
    model_.prefetch(std::min<const RingItem*>(item + kAhead, last)->address());
    rest_ = item + 1;
    take_in(*item);
  }
  rest_ = rest_end_ = nullptr;
}

template <class Sink>
[[gnu::always_inline]] inline Event EventBuilder<Sink>::event_of(const RingItem& item, std::uint64_t size) {
  Event event;
  event.time_us = clock_.to_us(item.time());
  event.address = item.address();
  event.size = size;
  event.stack = stacks_.fold(item.stack());
  event.thread = ThreadId(item.thread);
  event.kind = item.kind();
  return event;
}

template <class Sink>
inline void EventBuilder<Sink>::emit(Event& event, std::uint32_t slot, std::uint64_t time) {
  event.number = ++count_;
  EndedBlock ended;
  (void)model_.apply(
      event, [&](Event& made) { make_room(made, slot, time); }, ended);
  sink_.add(event, ended.allocated_at);
  if (is_reallocation(event.kind) && ended.allocated_at != 0 && ended.family != Family::C) [[unlikely]]
    check_pair(event, 0, ended);
}

template <class Sink>
[[gnu::always_inline]] inline void EventBuilder<Sink>::take_in(const RingItem& item) {
  const EventKind kind = item.kind();
  if (is_allocation(kind) && item.address() != 0) {
    if (!paused_.empty()) [[unlikely]]
      make_room_among_paused(item);
    Event event = event_of(item, item.size());
    event.number = ++count_;
    model_.allocate(event, [&](Event& made) { make_room(made, item.slot, item.time()); });
    sink_.add(event, 0);
  } else if (is_release(kind) && item.address() != 0) {
    take_in_release(item);
  } else {
    take_in_other(item);
  }
}

template <class Sink>
[[gnu::always_inline]] inline void EventBuilder<Sink>::take_in_release(const RingItem& item) {
  if (!begun_.empty()) [[unlikely]]
    end_realloc_in_place(item);
  Event event = event_of(item, 0);
  event.number = count_ + 1;
  EndedBlock ended;
  if (!model_.try_release(event, ended)) [[unlikely]] {
    if (!release_unknown(event, item, ended)) return;
  }
  ++count_;
  sink_.add(event, ended.allocated_at);
  const std::uint64_t given_size = item.size(); // its low half, or 0
  if (ended.family != family_of(event.kind) || (given_size != 0 && given_size != (ended.size & 0xffff'ffff)))
      [[unlikely]]
    check_pair(event, given_size, ended);
}

// False: the block was made while recording was paused, so this is not an event.
template <class Sink>
[[gnu::noinline]] bool EventBuilder<Sink>::release_unknown(Event& event, const RingItem& item, EndedBlock& ended) {
  if (paused_.take(event.address)) return false;
  look_for_maker(item);
  if (paused_.take(event.address)) return false;
  event.number = count_ + 1;
  const auto nothing = [](const Event&) {};
  (void)model_.apply(event, nothing, ended);
  if (ended.allocated_at == 0) note_odd(OddKind::NotLive, event, item.size(), {});
  return true;
}

template <class Sink>
void EventBuilder<Sink>::add_paused(const RingItem& item) {
  if (item.address() == 0) return;
  make_room_among_paused(item);
  if (model_.is_live(item.address())) {
    // A release that is stamped later, or a realloc under way, goes in front, as it would for a block on the tape.
    Event none;
    none.number = count_ + 1;
    none.time_us = clock_.to_us(item.time());
    none.address = item.address();
    make_room(none, item.slot, item.time());
  }
  paused_.add(item.address());
}

template <class Sink>
void EventBuilder<Sink>::add_mark(const RingItem& item) {
  marks_.add(item, {.event = count_,
                    .time_us = clock_.to_us(item.time()),
                    .thread = ThreadId(item.thread),
                    .stack = stacks_.fold(item.stack())});
  const auto question = static_cast<std::uint32_t>(item.size() >> 16);
  if (question != 0 && desk_ != nullptr) desk_->answer(item.slot, question, model_.totals());
}

template <class Sink>
[[gnu::noinline]] void EventBuilder<Sink>::take_in_other(const RingItem& item) {
  switch (item.kind()) {
  case EventKind::None: break; // moved elsewhere by a repair, or a hook that was given up
  case EventKind::ThreadStart:
    begun_.forget(item.slot);
    marks_.forget(item.slot);
    break;
  case EventKind::ReallocBegin:
  case EventKind::MremapBegin: begin(item); break;
  case EventKind::ReallocFailed:
    failed_realloc_ = begun_.end(item.slot, EventKind::ReallocBegin);
    if (failed_realloc_.paused) paused_.put_back(failed_realloc_.address);
    break;
  case EventKind::MremapFailed: failed_realloc_ = begun_.end(item.slot, EventKind::MremapBegin); break;
  case EventKind::FailedCall: note_failed(item); break;
  case EventKind::MemoryError: note_memory_error(item); break;
  case EventKind::Crash: note_crash(item); break;
  case EventKind::BecameNew:
    model_.set_family(item.address(), family_of(static_cast<EventKind>(item.size() & 0xff)));
    break;
  case EventKind::OperatorsMixed: odd_.mix_operators(); break;
  case EventKind::ThreadEnd: break; // its time is what it says
  case EventKind::Realloc:
  case EventKind::ReallocArray: finish_realloc(item); break;
  case EventKind::Mremap: finish_mremap(item); break;
  case EventKind::MmapAnonymous:
  case EventKind::MmapFile:
  case EventKind::Munmap: {
    Event event = event_of(item, item.size() & ~wire::kReservedBit);
    if ((item.size() & wire::kReservedBit) != 0 && item.kind() != EventKind::Munmap) event.old_size = kReservedOnly;
    emit(event, item.slot, item.time());
    break;
  }
  case EventKind::MarkText: marks_.add_text(item); break;
  case EventKind::Mark: add_mark(item); break;
  case EventKind::ThreadName: marks_.add_thread_name(item); break;
  case EventKind::PausedAlloc: add_paused(item); break;
  case EventKind::PausedRealloc: finish_paused_realloc(item); break;
  case EventKind::CpuSample:
    if (!cpu_.add(item, clock_.plain_us(item.time()), stacks_.fold(item.stack()))) ++damaged_;
    break;
  case EventKind::PoolName: pools_.add_name(item, marks_.take_text(item.slot, item.address())); break;
  case EventKind::PoolBegin: pools_.begin_large(item); break;
  case EventKind::Fork:
    forks_.push_back({item.size() << 48 | item.address(), count_, clock_.plain_us(item.time())});
    break;
  case EventKind::PoolAlloc:
  case EventKind::PoolFree: take_in_pool(item); break;
  default: ++damaged_; break;
  }
}

template <class Sink>
void EventBuilder<Sink>::begin(const RingItem& item) {
  const bool is_realloc = item.kind() == EventKind::ReallocBegin;
  const bool released = is_realloc && (item.word0 & kReleasedBit) != 0;
  bool paused = false;
  bool unknown = false;
  if (is_realloc && !released && !begun_.empty()) end_realloc_in_place(item);
  if (is_realloc && !released && item.address() != 0 && !model_.is_live(item.address())) {
    paused = paused_.take(item.address());
    if (!paused) look_for_maker(item);
    if (!paused && !model_.is_live(item.address())) {
      paused = paused_.take(item.address());
      unknown = !paused;
    }
  }
  begun_.add({.kind = item.kind(),
              .released = released,
              .paused = paused,
              .unknown = unknown,
              .slot = item.slot,
              .thread = item.thread,
              .stack = is_realloc ? stacks_.fold(item.stack()) : StackId{},
              .time_us = clock_.to_us(item.time()),
              .event = count_,
              .address = item.address(),
              .size = item.size()});
}

template <class Sink>
void EventBuilder<Sink>::finish_realloc(const RingItem& item) {
  const BegunCall begun = begun_.end(item.slot, EventKind::ReallocBegin);
  if (item.address() == 0 && begun.address == 0) {
    ++damaged_;
    return;
  }
  if (begun.paused && item.address() == 0) return; // it freed a block that is not on the tape
  if (item.address() != 0) make_room_among_paused(item);
  Event event = event_of(item, item.address() != 0 ? item.size() : 0);
  if (!begun.paused) {
    event.old_address = begun.address;
    event.old_released = begun.released;
  }
  if (event.stack == StackId{}) event.stack = begun.stack;
  emit(event, item.slot, item.time());
  if (begun.unknown && !begun.released) note_odd(OddKind::NotLive, event, event.size, {});
}

// The block that was ended is on the tape or not; the one that was made is not. To the tape it is a realloc that frees.
template <class Sink>
void EventBuilder<Sink>::finish_paused_realloc(const RingItem& item) {
  const BegunCall begun = begun_.end(item.slot, EventKind::ReallocBegin);
  if (!begun.paused && begun.address != 0 && (begun.released || model_.is_live(begun.address))) {
    Event event = event_of(item, 0);
    event.kind = EventKind::Realloc;
    event.address = 0;
    event.old_address = begun.address;
    event.old_released = begun.released;
    if (event.stack == StackId{}) event.stack = begun.stack;
    emit(event, item.slot, item.time());
  }
  add_paused(item);
}

template <class Sink>
void EventBuilder<Sink>::finish_mremap(const RingItem& item) {
  const BegunCall begun = begun_.end(item.slot, EventKind::MremapBegin);
  Event event = event_of(item, item.size());
  event.old_address = begun.address;
  event.old_size = begun.size;
  emit(event, item.slot, item.time());
}

// Pools have a model of their own: to that of the heap these events are mere numbers.
template <class Sink>
void EventBuilder<Sink>::take_in_pool(const RingItem& item) {
  Event event = event_of(item, 0);
  event.number = ++count_;
  const PoolCollector::Taken taken = pools_.take_in(item, event);
  if (taken.as != PoolCollector::Taken::As::Event) {
    --count_;
    damaged_ += taken.as == PoolCollector::Taken::As::Nonsense;
    return;
  }
  model_.apply(event);
  sink_.add(event, taken.allocated_at);
}

} // namespace heaptape
