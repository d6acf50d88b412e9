// The bodies of EventBuilder that note odd calls: those that failed, and those whose block was made by another family of functions;
// what the checks in the program have found; and crashes. Part of event_builder_impl.h.
#pragma once

#include "collector/events/event_builder.h"
#include "wire/failed_call.h"

namespace heaptape {

template <class Sink>
void EventBuilder<Sink>::note_odd(OddKind kind, const Event& event, std::uint64_t size, const EndedBlock& ended) {
  odd_.add({.kind = kind,
            .call = event.kind,
            .event = event.number,
            .time_us = event.time_us,
            .thread = event.thread,
            .stack = event.stack,
            .address = is_reallocation(event.kind) ? event.old_address : event.address,
            .size = size,
            .maker = ended.allocated_at,
            .block_size = ended.size,
            .family = ended.family});
}

template <class Sink>
[[gnu::noinline]] void EventBuilder<Sink>::check_pair(const Event& event, std::uint64_t given_size,
                                                      const EndedBlock& ended) {
  const Family family = family_of(event.kind);
  if (ended.allocated_at == 0 || ended.family == Family::Unknown || family == Family::Unknown) return;
  if (ended.family != family) {
    if (!odd_.operators_are_mixed())
      note_odd(OddKind::Mismatch, event, is_reallocation(event.kind) ? event.size : 0, ended);
  } else if (given_size != 0 && given_size != (ended.size & 0xffff'ffff)) {
    note_odd(OddKind::WrongSize, event, given_size, ended);
  }
}

template <class Sink>
void EventBuilder<Sink>::note_failed(const RingItem& item) {
  const wire::FailedCallFields fields = wire::failed_call_of(item.address(), item.size());
  if (!is_allocation(fields.call) && !is_reallocation(fields.call) && !is_mapping(fields.call)) {
    ++damaged_;
    return;
  }
  const bool of_realloc = is_reallocation(fields.call) || fields.call == EventKind::Mremap;
  const bool has_old = of_realloc && failed_realloc_.slot == item.slot && failed_realloc_.address != 0;
  // The checks give nothing for what is not a block.
  const bool of_no_block =
      has_old && failed_realloc_.unknown && !failed_realloc_.paused && is_reallocation(fields.call);
  odd_.add({.kind = of_no_block ? OddKind::Unfinished : OddKind::Failed,
            .call = fields.call,
            .event = count_,
            .time_us = clock_.to_us(item.time()),
            .thread = ThreadId(item.thread),
            .stack = stacks_.fold(item.stack()),
            .address = has_old ? failed_realloc_.address : 0,
            .size = fields.size,
            .error = fields.error});
  failed_realloc_ = {};
}

template <class Sink>
void EventBuilder<Sink>::note_memory_error(const RingItem& item) {
  const std::string text = marks_.take_text(item.slot, item.address());
  const bool sensible = item.address() == text.size() && errors_.add(text,
                                                                     {.event = count_,
                                                                      .time_us = clock_.to_us(item.time()),
                                                                      .thread = ThreadId(item.thread),
                                                                      .stack = stacks_.fold(item.stack())},
                                                                     clock_);
  if (!sensible) ++damaged_;
}

template <class Sink>
void EventBuilder<Sink>::note_crash(const RingItem& item) {
  const bool good = crashes_.add(marks_.take_text(item.slot, item.address()), {.event = count_,
                                                                               .time_us = clock_.to_us(item.time()),
                                                                               .thread = ThreadId(item.thread),
                                                                               .stack = stacks_.fold(item.stack())});
  if (!good) ++damaged_;
}

// What glibc finds wrong with a pointer ends the program inside the real call.
template <class Sink>
void EventBuilder<Sink>::finish() {
  for (const BegunCall& begun : begun_.all()) {
    if (begun.kind != EventKind::ReallocBegin || !begun.unknown || begun.paused || begun.released) continue;
    odd_.add({.kind = OddKind::Unfinished,
              .call = EventKind::Realloc,
              .event = begun.event,
              .time_us = begun.time_us,
              .thread = ThreadId(begun.thread),
              .stack = begun.stack,
              .address = begun.address,
              .size = begun.size});
  }
}

} // namespace heaptape
