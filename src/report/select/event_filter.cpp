#include "report/select/event_filter.h"

#include <charconv>

#include "base/decimal_text.h"

#include <algorithm>

namespace heaptape {
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

Result<Position> parse_position(const std::string& text) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  std::uint64_t number = 0;
  if (const auto [rest, status] = std::from_chars(begin, end, number); status == std::errc{} && rest == end) {
    return Position{false, number};
  }
  const std::optional<Decimal> decimal = read_decimal(text);
  const double amount = decimal ? decimal->number : 0;
  const std::string_view unit = decimal ? decimal->rest : std::string_view();
  double us = -1;
  if (unit == "s") us = amount * 1e6;
  if (unit == "ms") us = amount * 1e3;
  if (unit == "us" || unit == "µs") us = amount;
  if (unit == "min") us = amount * 60e6;
  if (us < 0 || us >= 0x1p63) {
    return Error{ErrorCode::Usage,
                 "'" + text + "' is neither an event number nor a time such as 12.5s, 200ms or 300us"};
  }
  return Position{true, static_cast<std::uint64_t>(us + 0.5)};
}

} // namespace heaptape
