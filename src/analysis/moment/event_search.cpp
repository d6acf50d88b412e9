#include "analysis/moment/event_search.h"

#include <algorithm>

namespace heaptape {
namespace {

constexpr std::uint64_t kPatience = 1 << 16; // events between two questions

bool accepts(const EventSearch& search, const Event& event) { return !search.accept || search.accept(event); }

} // namespace

std::optional<Event> find_first_event(const TapeReader& tape, const EventSearch& search) {
  EventCursor cursor = tape.events(search.first);
  std::uint64_t asked = search.first;
  for (auto run = cursor.next_run_until(search.last); !run.empty(); run = cursor.next_run_until(search.last)) {
    for (const Event& event : run) {
      if (accepts(search, event)) return event;
    }
    if (run.back().number < asked + kPatience) continue;
    asked = run.back().number;
    if (search.should_stop && search.should_stop()) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Event> find_last_event(const TapeReader& tape, const EventSearch& search) {
  const auto& blocks = tape.event_chunks();
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    const std::uint64_t first = std::max(search.first, block->first_number);
    const std::uint64_t last = std::min(search.last, block->last_number());
    if (block->first_number > search.last) continue;
    if (first > last) break;
    std::optional<Event> found;
    EventCursor cursor = tape.events(first);
    for (auto run = cursor.next_run_until(last); !run.empty(); run = cursor.next_run_until(last)) {
      for (const Event& event : run) {
        if (accepts(search, event)) found = event;
      }
    }
    if (found) return found;
    if (search.should_stop && search.should_stop()) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Event> event_numbered(const TapeReader& tape, std::uint64_t number) {
  if (number == 0) return std::nullopt;
  return find_first_event(tape, {.first = number, .last = number});
}

std::uint64_t last_event_until(const TapeReader& tape, std::uint64_t time_us) {
  const auto& blocks = tape.event_chunks();
  if (blocks.empty()) return 0;
  if (time_us >= blocks.back().last_us) return blocks.back().last_number();
  EventCursor cursor = tape.events_from_time(time_us + 1);
  const Event* later = cursor.next();
  return later != nullptr ? later->number - 1 : blocks.back().last_number();
}

} // namespace heaptape
