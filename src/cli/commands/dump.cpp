// heaptape dump: every event of a tape, in order.
#include <algorithm>

#include "base/number_text.h"
#include "cli/commands/commands.h"
#include "cli/options/choose_tape.h"
#include "cli/options/command_line.h"
#include "cli/options/report_options.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "report/pages/dump.h"
#include "report/select/event_filter.h"
#include "report/select/filter.h"
#include "report/text/damage_text.h"
#include "report/view/find_threads.h"
#include "tape/reader.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape dump [options] [TAPE]",
    .purpose =
        "Prints every event of a tape in order: its number, the time in seconds since the recording began, thread, "
        "kind, address and size, and below it the call stack, innermost frame first: function and line where the tape "
        "holds them, and module+offset. The program's own marks, texts and numbers appear in between.",
    .more = R"(POSITION is an event number (1000), a time (12.5s, 200ms, 300us), start, peak, end, the name of
a mark, or a sum such as peak-10. Both ends are included.

Examples:
  heaptape dump --no-stacks app.tape | less
  heaptape dump --from 2s --to 2.1s --kind alloc app.tape
  heaptape dump --from peak-20 --to peak app.tape
  heaptape dump --where 'size>1M and fn~parse' app.tape
  heaptape dump --json app.tape | jq 'select(.size > 1000000)'
)"};

struct DumpOptions {
  TapeChoice tape;
  std::string from, to, thread, kinds, where;
  bool json = false;
  bool no_stacks = false;
  bool cpu = false;
  ReportOptions reading{};
};

// Numbers and times need no index; the peak, marks and sums do.
bool is_plain(const std::string& position) { return position.empty() || parse_position(position).ok(); }
bool is_time(const std::string& position) {
  const Result<Position> parsed = parse_position(position);
  return position.empty() || (parsed.ok() && parsed.value().is_time);
}

// A range that cannot hold anything is a mistake; an empty list would hide it.
Result<> check_range(const DumpOptions& options, const EventFilter& filter, const TapeReader& tape) {
  if (!filter.from) return Unit{};
  const Position& from = *filter.from;
  if (filter.to && filter.to->is_time == from.is_time && from.value > filter.to->value)
    return Error{ErrorCode::Usage, fmt::format("--from {} is later than --to {}; swap them", options.from, options.to)};
  if (!from.is_time && from.value > tape.event_count()) {
    const std::string there = tape.event_count() == 0 ? "none" : "1 to " + with_separators(tape.event_count());
    return Error{ErrorCode::Usage,
                 fmt::format("there is no event {}; the tape holds {}", with_separators(from.value), there)};
  }
  if (from.is_time && tape.summary() && from.value > tape.summary()->duration_us)
    return Error{ErrorCode::Usage, fmt::format("--from {} is past the end of the tape, which is at {} s", options.from,
                                               seconds_text(tape.summary()->duration_us))};
  return Unit{};
}

// `view`: for positions that are not plain.
Result<EventFilter> make_filter(const DumpOptions& options, const TapeReader& tape, const TapeView* view) {
  EventFilter filter;
  for (const auto& [text, position] : {std::pair{&options.from, &filter.from}, std::pair{&options.to, &filter.to}}) {
    if (text->empty()) continue;
    if (is_plain(*text)) {
      *position = parse_position(*text).value();
      continue;
    }
    const Result<Moment> moment = view->moment(*text);
    if (!moment) return moment.error();
    *position = Position{false, std::max<std::uint64_t>(moment.value().event, 1)};
  }
  if (const Result<> checked = check_range(options, filter, tape); !checked) return checked.error();
  if (!options.kinds.empty()) {
    Result<KindSet> kinds = KindSet::parse(options.kinds);
    if (!kinds) return kinds.error();
    filter.kinds = kinds.value();
  }
  if (!options.thread.empty()) {
    Result<std::vector<ThreadId>> threads = find_threads(tape.threads(), options.thread);
    if (!threads) return threads.error();
    filter.threads = std::move(threads).value();
  }
  return filter;
}

DumpRequest make_request(const DumpOptions& options, EventFilter filter, Filter* where = nullptr) {
  return {.filter = std::move(filter),
          .where = where,
          .marks = options.kinds.empty() && options.where.empty(), // --kind and --where ask for certain events alone
          .stacks = !options.no_stacks,
          .json = options.json,
          .names = options.reading.names().value()}; // the list allows no other
}

// What is left out is said before, and once more as the last object of JSON.
template <class Dump>
int print_all(Dump& dump, const DumpOptions& options, const TapeDamage& damage) {
  Output output;
  if (!options.json) output.fold_lines();
  while (!output.failed() && dump.next(output.buffer())) output.write_if_full();
  if (options.json && !damage.empty()) output.print("{{{}}}\n", damage_fields(damage));
  return output.finish() ? kOk : kTrouble;
}

// Filters may ask for names and moments, which come with the index.
int dump_with_index(DumpOptions& options) {
  const Result<TapeView> view = options.reading.open(options.tape);
  if (!view) return fail(view.error());
  Result<Filter> where = Filter::parse(options.where, FilterOf::Events, view.value());
  if (!where) return fail(where.error());
  Result<EventFilter> filter = make_filter(options, view.value().tape(), &view.value());
  if (!filter) return fail(filter.error());
  EventDump dump(view.value().tape(), make_request(options, std::move(filter).value(), &where.value()));
  return print_all(dump, options, view.value().damage());
}

} // namespace

int dump(Arguments arguments) {
  DumpOptions options;
  OptionList list("dump");
  list.text("--from POSITION", options.from, "first event to print");
  list.text("--to POSITION", options.to, "last event to print");
  list.text("--thread N", options.thread, "only events of this thread: its number on the tape, or the kernel's id");
  list.text("--kind KINDS", options.kinds,
            "only events of these kinds, separated by commas: malloc, free, new[], ... or the groups alloc, "
            "release, map, pool");
  list.text("--where FILTER", options.where,
            "only events that match, such as 'size>1M and fn~parse' (man heaptape-filters)");
  list.flag("--no-stacks", options.no_stacks, "leave out the call stacks: one line per event");
  list.flag("--cpu", options.cpu, "print the samples of the CPU profile instead of events");
  list.flag("--json", options.json, "print one JSON object per line");
  options.reading.add_names(list);
  options.tape.add(list);
  if (const auto status = parse(list, kHelp, arguments)) return *status;

  if (options.cpu && (!options.where.empty() || !options.kinds.empty())) {
    say("--where and --kind are about heap events; with --cpu there are --from, --to and --thread");
    return kTrouble;
  }
  const bool by_name = !is_plain(options.from) || !is_plain(options.to);
  if (!options.cpu && (!options.where.empty() || by_name)) return dump_with_index(options);
  if (options.cpu && (!is_time(options.from) || !is_time(options.to))) {
    say("samples have no numbers; with --cpu, --from and --to are times, such as 1.5s");
    return kTrouble;
  }
  const Result<TapeReader> tape = open_chosen_tape(options.tape);
  if (!tape) return fail(tape.error());
  Result<EventFilter> filter = make_filter(options, tape.value(), nullptr);
  if (!filter) return fail(filter.error());
  DumpRequest request = make_request(options, std::move(filter).value());
  const TapeDamage damage = damage_of(tape.value());
  say_damage(options.tape.path, damage, damage.missing_events);
  if (!options.cpu) {
    EventDump events(tape.value(), std::move(request));
    return print_all(events, options, damage);
  }
  SampleDump samples(tape.value(), std::move(request));
  return print_all(samples, options, damage);
}

} // namespace heaptape::cli
