#include "report/tape_view.h"

#include <algorithm>
#include <charconv>

#include "analysis/heap_cursor.h"
#include "analysis/moments.h"
#include "base/number_text.h"

namespace heaptape {

Result<TapeView> TapeView::open(const std::string& path, const OpenView& options) {
  OpenIndexed how;
  how.make.progress = options.index_progress;
  Result<IndexedTape> indexed = open_indexed_tape(path, how);
  if (!indexed) return indexed.error();
  auto parts = std::unique_ptr<Parts>(new Parts{.path = path, .indexed = std::move(indexed).value(), .found = {}});
  const TapeReader& tape = parts->indexed.tape;
  const Symbols* symbols = &tape.symbols();
  if (symbols->empty()) {
    parts->found = symbolize_tape(tape, options.symbols).symbols;
    parts->symbolized_here = !parts->found.empty();
    parts->nameless = parts->found.empty() && tape.stacks().size() > 1;
    symbols = &parts->found;
  }
  parts->names = std::make_unique<StackNames>(tape.modules(), tape.stacks(), *symbols, options.names);
  parts->marks = tape.marks();
  return TapeView(std::move(parts));
}

std::optional<std::uint64_t> parse_time_us(std::string_view text) {
  double amount = 0;
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), amount, std::chars_format::fixed);
  if (status != std::errc{} || amount < 0) return std::nullopt;
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  double us = -1;
  if (unit == "s") us = amount * 1e6;
  if (unit == "ms") us = amount * 1e3;
  if (unit == "us" || unit == "µs") us = amount;
  if (unit == "min") us = amount * 60e6;
  if (us < 0 || us >= 0x1p62) return std::nullopt;
  return static_cast<std::uint64_t>(us + 0.5);
}

Result<Moment> TapeView::moment(const std::string& text) const {
  const auto& blocks = tape().event_blocks();
  const std::uint64_t last = blocks.empty() ? 0 : blocks.back().first_number + blocks.back().count - 1;
  const Answers& all = answers();
  if (text == "start") return Moment{0, 0, text};
  if (text == "end") return Moment{last, all.end_us, text};
  if (text == "peak") return Moment{all.totals.peak_event, all.totals.peak_us, text};
  const auto mark = std::find_if(marks().begin(), marks().end(), [&](const Mark& each) { return each.name == text; });
  if (mark != marks().end()) return Moment{mark->event, mark->time_us, text};
  if (const auto time_us = parse_time_us(text)) {
    if (*time_us > all.end_us) {
      return Error{ErrorCode::Usage,
                   text + " is behind the end of the tape, which is at " + seconds_text(all.end_us) + "s"};
    }
    return Moment{last_event_until(tape(), *time_us), *time_us, text};
  }
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  if (const auto [rest, status] = std::from_chars(text.data(), end, number); status == std::errc{} && rest == end) {
    if (number > last) {
      return Error{ErrorCode::Usage, "there is no event " + text + "; the last one is " + std::to_string(last)};
    }
    EventCursor cursor = tape().events(number);
    const Event* event = number == 0 ? nullptr : cursor.next();
    return Moment{number, event != nullptr ? event->time_us : 0, text};
  }
  std::string known;
  for (const Mark& each : marks()) known += (known.empty() ? "; its marks are " : ", ") + each.name;
  return Error{
      ErrorCode::Usage,
      "'" + printable(text) + "' is no moment of this tape: an event's number, a time such as 12.5s, start, peak, end" +
          (known.empty() ? std::string(", or a mark (this tape has none)") : ", or a mark" + printable(known))};
}

} // namespace heaptape
