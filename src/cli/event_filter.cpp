#include "cli/event_filter.h"

#include <algorithm>

namespace heaptape::cli {
namespace {

bool is_before(const Event& event, const Position& position) {
  return (position.is_time ? event.time_us : event.number) < position.value;
}

bool is_after(const Event& event, const Position& position) {
  return (position.is_time ? event.time_us : event.number) > position.value;
}

} // namespace

bool EventFilter::accepts(const Event& event) const {
  if (!kinds.contains(event.kind)) return false;
  if (threads && std::find(threads->begin(), threads->end(), event.thread) == threads->end()) return false;
  return !(from && is_before(event, *from)) && !is_past(event);
}

bool EventFilter::is_past(const Event& event) const { return to && is_after(event, *to); }

} // namespace heaptape::cli
