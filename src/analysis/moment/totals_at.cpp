#include "analysis/moment/totals_at.h"

#include "analysis/heap/heap_model.h"

namespace heaptape {

std::vector<HeapTotals> totals_at(const TapeReader& tape, std::span<const std::uint64_t> events,
                                  const std::function<bool()>& should_stop, std::vector<Damage>& damage) {
  constexpr std::uint64_t kLookEvery = 1 << 16;
  std::vector<HeapTotals> all;
  all.reserve(events.size());
  HeapModel model;
  EventCursor cursor = tape.events();
  const auto reached = [&](std::uint64_t next) {
    while (all.size() < events.size() && events[all.size()] < next) all.push_back(model.totals());
  };
  const Event* event = cursor.next();
  for (; event != nullptr && all.size() < events.size(); event = cursor.next()) {
    reached(event->number);
    model.apply(*event);
    if (event->number % kLookEvery == 0 && should_stop && should_stop()) return all;
  }
  reached(~std::uint64_t{0});
  damage.insert(damage.end(), cursor.damage().begin(), cursor.damage().end());
  return all;
}

} // namespace heaptape
