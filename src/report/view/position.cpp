#include "report/view/position.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "analysis/moment/event_search.h"
#include "base/near_word.h"
#include "base/number_text.h"
#include "report/text/mark_text.h"
#include "report/text/snapshot_names.h"
#include "report/text/time_text.h"
#include "tape/reader.h"

namespace heaptape {
namespace {

std::optional<std::uint64_t> event_number(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, number);
  if (status != std::errc{} || rest != end) return std::nullopt;
  return number;
}

constexpr std::string_view kSnapshotForms[] = {"snapshot",      "next snapshot",  "previous snapshot",
                                               "prev snapshot", "first snapshot", "last snapshot"};

bool is_snapshot_form(std::string_view text) {
  return std::find(std::begin(kSnapshotForms), std::end(kSnapshotForms), text) != std::end(kSnapshotForms);
}

// Reads a position from left to right: a point, then steps from it.
class PositionParser {
public:
  PositionParser(std::string_view text, const PositionPoints& points) : whole_(text), rest_(text), points_(points) {}

  Result<Moment> parse() {
    Moment moment;
    if (rest_.empty()) return no_position();
    if (rest_[0] == '+' || rest_[0] == '-') {
      if (!points_.cursor)
        return Error{ErrorCode::Usage, "'" + printable(whole_) + "' counts from a cursor, and there is none here"};
      moment = *points_.cursor;
    } else if (const Result<> found = point(moment); !found) {
      return found.error();
    }
    while (!rest_.empty()) {
      if (const Result<> stepped = step(moment); !stepped) return stepped.error();
    }
    moment.label = whole_;
    return moment;
  }

private:
  Error no_position() const {
    std::string known;
    constexpr std::size_t kShown = 8;
    const std::vector<Mark> marks = moments_of(numbered(points_.marks));
    std::vector<std::string> names{"start", "peak", "end"};
    for (const Mark& mark : marks) {
      if (mark.name.empty()) continue;
      names.push_back(mark.name);
      if (const std::size_t named = names.size() - 3; named <= kShown)
        known += (named == 1 ? "; its marks are " : ", ") + mark.name;
    }
    if (names.size() - 3 > kShown) known += " and " + std::to_string(names.size() - 3 - kShown) + " more";
    if (const std::string meant = near_word(whole_, names); !meant.empty())
      return Error{ErrorCode::Usage, "'" + printable(whole_) + "' is not a moment of this tape; did you mean '" +
                                         printable(meant) + "'?"};
    return Error{
        ErrorCode::Usage,
        "'" + printable(whole_) +
            "' is not a moment of this tape: give an event number, a time such as 12.5s, start, peak, total-peak, end" +
            snapshot_words() +
            (known.empty() ? std::string(", or a mark (this tape has none)") : ", or a mark" + printable(known))};
  }

  // How the snapshots are written that the tape has: ", snapshot:1 or snapshot:2". Their names are marks.
  std::string snapshot_words() const {
    constexpr std::size_t kShown = 8;
    std::vector<std::string> words;
    for (const NamedSnapshot& each : snapshots()) {
      if (each.number != 0) words.push_back("snapshot:" + std::to_string(each.number));
    }
    if (words.empty()) return "";
    if (words.size() > kShown) return ", " + words.front() + " to " + words.back();
    return ", " + listed(words, "or");
  }

  // Up to the next sign; a point may hold signs itself only when it is a mark.
  std::string_view take_term() {
    const std::size_t sign = rest_.find_first_of("+-", 1);
    const std::string_view term = rest_.substr(0, sign);
    rest_.remove_prefix(term.size());
    return term;
  }

  // "NAME#3": the third of that name.
  std::vector<Mark>::const_iterator numbered_mark(std::string_view name) const {
    const std::size_t sign = name.rfind('#');
    const auto wanted = sign != name.npos ? event_number(name.substr(sign + 1)) : std::nullopt;
    if (!wanted || *wanted == 0) return points_.marks.end();
    std::uint64_t left = *wanted;
    return std::find_if(points_.marks.begin(), points_.marks.end(),
                        [&](const Mark& each) { return each.name == name.substr(0, sign) && --left == 0; });
  }

  bool take_mark(std::string_view name, std::size_t length, Moment& moment) {
    auto mark =
        std::find_if(points_.marks.begin(), points_.marks.end(), [&](const Mark& each) { return each.name == name; });
    if (mark == points_.marks.end()) mark = numbered_mark(name);
    if (mark == points_.marks.end()) return false;
    moment = {std::min(mark->event, points_.end.event), std::min(mark->time_us, points_.end.time_us)};
    for (const MemorySnapshot& snapshot : points_.tape.snapshots()) {
      if (mark->kind == MarkKind::Snapshot && snapshot.event == mark->event && snapshot.time_us == mark->time_us)
        moment.snapshot = snapshot.number;
    }
    rest_.remove_prefix(length);
    return true;
  }

  // The longest mark that the text begins with, whole or in front of a sign.
  bool take_longest_mark(Moment& moment, bool with_sign = false) {
    for (std::size_t length = rest_.size(); length > 0; --length) {
      if (with_sign && rest_.substr(0, length).find_first_of("+-") == rest_.npos) return false;
      if (length != rest_.size() && rest_[length] != '+' && rest_[length] != '-') continue;
      if (take_mark(rest_.substr(0, length), length, moment)) return true;
    }
    return false;
  }

  Result<> point(Moment& moment) {
    if (rest_[0] == '\'') {
      const std::size_t end = rest_.find('\'', 1);
      if (end == rest_.npos || end == 1 || !take_mark(rest_.substr(1, end - 1), end + 1, moment)) return no_position();
      return Unit{};
    }
    if (take_longest_mark(moment, true)) return Unit{}; // "start-up" is not a sum
    if (const std::string_view word = snapshot_word(rest_); !word.empty() && !is_mark(rest_)) {
      rest_.remove_prefix(word.size());
      return take_snapshot(moment);
    }
    if (constexpr std::string_view kTotalPeak = "total-peak"; rest_.starts_with(kTotalPeak)) {
      moment = points_.total_peak;
      rest_.remove_prefix(kTotalPeak.size());
      return Unit{};
    }
    const std::string_view before = rest_;
    const std::string_view term = take_term();
    if (term == "^" || term == "start") {
      moment = {};
    } else if (term == "$" || term == "end") {
      moment = points_.end;
    } else if (term == "peak") {
      moment = points_.peak;
    } else if (term == "@") {
      if (!points_.cursor) return Error{ErrorCode::Usage, "'@' is the cursor, and there is none here"};
      moment = *points_.cursor;
    } else if (const auto number = event_number(term)) {
      return go_to_event(*number, moment);
    } else if (const auto time_us = parse_time_us(term)) {
      return go_to_time(*time_us, moment);
    } else if (is_snapshot(term)) {
      return go_to_snapshot(term.substr(0, term.find(' ')), moment);
    } else {
      rest_ = before;
      if (take_longest_mark(moment)) return Unit{};
      if (!term.starts_with('@')) return no_position();
      rest_.remove_prefix(1);
      return take_snapshot(moment);
    }
    return Unit{};
  }

  bool is_mark(std::string_view name) const {
    return std::any_of(points_.marks.begin(), points_.marks.end(), [&](const Mark& mark) { return mark.name == name; });
  }

  // Where there is no cursor, those that are seen from one mean nothing, and a mark of that name is found.
  bool is_snapshot(std::string_view term) const {
    if (!is_snapshot_form(term)) return false;
    return points_.cursor || term.starts_with("first") || term.starts_with("last") || !is_mark(term);
  }

  std::vector<NamedSnapshot> snapshots() const {
    std::vector<NamedSnapshot> all = named_snapshots(points_.tape, points_.marks);
    std::erase_if(all, [&](const NamedSnapshot& each) { return each.event > points_.end.event; });
    return all;
  }
  Moment moment_of(const NamedSnapshot& snapshot) const {
    return {.event = snapshot.event,
            .time_us = std::min(snapshot.time_us, points_.end.time_us),
            .snapshot = snapshot.memory != nullptr ? snapshot.number : 0};
  }

  // The number or the name, which may hold signs itself: the longest that there is.
  Result<> take_snapshot(Moment& moment) {
    const std::vector<NamedSnapshot> all = snapshots();
    for (std::size_t length = rest_.size(); length > 0; --length) {
      if (length != rest_.size() && rest_[length] != '+' && rest_[length] != '-') continue;
      const Result<NamedSnapshot> found = find_snapshot_named(all, rest_.substr(0, length));
      if (!found) continue;
      moment = moment_of(found.value());
      rest_.remove_prefix(length);
      return Unit{};
    }
    return find_snapshot_named(all, rest_).error();
  }

  Result<> go_to_snapshot(std::string_view which, Moment& moment) const {
    const bool next = which == "next" || which == "snapshot", previous = which == "previous" || which == "prev";
    if ((next || previous) && !points_.cursor)
      return Error{ErrorCode::Usage, "'" + printable(whole_) +
                                         "' is seen from a cursor, and there is none here; first and last snapshot "
                                         "need none"};
    const std::vector<NamedSnapshot> all = snapshots();
    if (all.empty() || (!next && !previous)) {
      const Result<NamedSnapshot> found = find_snapshot_named(all, which);
      if (!found) return found.error();
      moment = moment_of(found.value());
      return Unit{};
    }
    const auto here = std::pair(points_.cursor->event, points_.cursor->time_us);
    const auto at = [](const NamedSnapshot& each) { return std::pair(each.event, each.time_us); };
    const auto behind =
        next ? std::ranges::upper_bound(all, here, {}, at) : std::ranges::lower_bound(all, here, {}, at);
    if (behind == (next ? all.end() : all.begin()))
      return Error{ErrorCode::NotFound,
                   std::string("there is no snapshot ") + (next ? "after" : "before") + " this moment"};
    moment = moment_of(next ? *behind : *std::prev(behind));
    return Unit{};
  }

  Result<> step(Moment& moment) {
    if (rest_[0] != '+' && rest_[0] != '-') return no_position();
    const bool forward = rest_[0] == '+';
    rest_.remove_prefix(1);
    if (rest_.empty()) return no_position();
    const std::string_view term = take_term();
    const auto moved = [&](std::uint64_t from, std::uint64_t by) -> std::optional<std::uint64_t> {
      if (forward ? from + by < from : by > from) return std::nullopt;
      return forward ? from + by : from - by;
    };
    if (const auto number = event_number(term)) {
      const auto event = moved(moment.event, *number);
      if (!event) return out_of_tape(forward);
      return go_to_event(*event, moment);
    }
    if (const auto us = parse_time_us(term)) {
      const auto time_us = moved(moment.time_us, *us);
      if (!time_us) return out_of_tape(forward);
      return go_to_time(*time_us, moment);
    }
    return no_position();
  }

  Error out_of_tape(bool behind) const {
    if (!behind) return Error{ErrorCode::Usage, "'" + printable(whole_) + "' is before the start of the tape"};
    return Error{ErrorCode::Usage, "'" + printable(whole_) + "' is past the end of the tape, which is at " +
                                       seconds_text(points_.end.time_us) + "s"};
  }

  Result<> go_to_event(std::uint64_t number, Moment& moment) const {
    if (number > points_.end.event) {
      return Error{ErrorCode::Usage, "there is no event " + std::to_string(number) + "; the last one is " +
                                         std::to_string(points_.end.event)};
    }
    EventCursor cursor = points_.tape.events(number);
    const Event* event = number == 0 ? nullptr : cursor.next();
    moment = {number, event != nullptr ? event->time_us : 0};
    return Unit{};
  }

  Result<> go_to_time(std::uint64_t time_us, Moment& moment) const {
    if (time_us > points_.end.time_us) return out_of_tape(true);
    moment = {std::min(last_event_until(points_.tape, time_us), points_.end.event), time_us};
    return Unit{};
  }

  std::string_view whole_, rest_;
  const PositionPoints& points_;
};

} // namespace

bool needs_quotes(std::string_view mark) {
  constexpr std::string_view kWords[] = {"^", "start", "$", "end", "peak", "@"};
  return is_snapshot_form(mark) || mark.starts_with('+') || mark.starts_with('-') || event_number(mark) ||
         parse_time_us(mark) || std::find(std::begin(kWords), std::end(kWords), mark) != std::end(kWords);
}

Result<Moment> find_position(std::string_view text, const PositionPoints& points) {
  return PositionParser(text, points).parse();
}

} // namespace heaptape
