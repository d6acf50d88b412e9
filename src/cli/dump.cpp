// heaptape dump: every event of a tape, in order.
#include <algorithm>
#include <unordered_map>

#include "cli/choose_tape.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/event_filter.h"
#include "cli/event_text.h"
#include "cli/exit_codes.h"
#include "cli/frame_names.h"
#include "cli/report_options.h"
#include "report/damage_text.h"
#include "report/filter.h"
#include "report/find_threads.h"
#include "tape/reader.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape dump [options] [TAPE]",
    .purpose =
        "Prints every event of a tape in order: its number, the time in seconds since the recording began, thread, "
        "kind, address and size, and below it the call stack, innermost frame first, as module+offset.",
    .more = R"(POSITION is an event's number (1000) or a time (12.5s, 200ms, 300us). Both ends are included.

Examples:
  heaptape dump --no-stacks app.tape | less
  heaptape dump --from 2s --to 2.1s --kind alloc app.tape
  heaptape dump --where 'size>1M and fn~parse' app.tape
  heaptape dump --json app.tape | jq 'select(.size > 1000000)'
)"};

struct DumpOptions {
  std::string tape, from, to, thread, kinds, where;
  bool json = false;
  bool no_stacks = false;
};

Result<EventFilter> make_filter(const DumpOptions& options, const TapeReader& tape) {
  EventFilter filter;
  for (const auto& [text, position] : {std::pair{&options.from, &filter.from}, std::pair{&options.to, &filter.to}}) {
    if (text->empty()) continue;
    Result<Position> parsed = parse_position(*text);
    if (!parsed) return parsed.error();
    *position = parsed.value();
  }
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

EventCursor cursor_at(const TapeReader& tape, const std::optional<Position>& from, const Filter::Bounds& bounds) {
  if (!from) {
    if (bounds.first_us == 0) return tape.events(std::max<std::uint64_t>(bounds.first_event, 1));
    return tape.events_from_time(bounds.first_us);
  }
  return from->is_time ? tape.events_from_time(from->value) : tape.events(from->value);
}

// The kernel's ids by the tape's numbers.
std::unordered_map<std::uint32_t, std::uint32_t> kernel_ids(const TapeReader& tape) {
  std::unordered_map<std::uint32_t, std::uint32_t> ids;
  for (const Thread& thread : tape.threads()) ids[thread.id.value] = thread.tid;
  return ids;
}

int print_events(const TapeReader& tape, const EventFilter& filter, Filter* where, const DumpOptions& options) {
  Output output;
  FrameNames names(tape.modules(), tape.stacks());
  FrameNames* const names_or_none = options.no_stacks ? nullptr : &names;
  const ColumnWidths widths = ColumnWidths::of(tape);
  const auto tids = kernel_ids(tape);
  const Filter::Bounds bounds = where != nullptr ? where->bounds() : Filter::Bounds();
  EventCursor cursor = cursor_at(tape, filter.from, bounds);
  if (!options.json) append_titles(output.buffer(), widths);
  while (const Event* event = cursor.next()) {
    if (filter.is_past(*event) || output.failed()) break;
    if (event->number > bounds.last_event || event->time_us > bounds.last_us) break;
    if (!filter.accepts(*event) || (where != nullptr && !where->matches(*event))) continue;
    if (options.json) {
      const auto tid = tids.find(event->thread.value);
      append_event_json(output.buffer(), *event, tid != tids.end() ? tid->second : 0, names_or_none, tape.pools());
    } else {
      append_event(output.buffer(), *event, widths, tape.pools());
      if (names_or_none != nullptr) append_stack(output.buffer(), *event, names);
    }
    output.write_if_full();
  }
  const bool written = output.finish();
  for (const std::vector<Damage>* damage : {&tape.damage(), &cursor.damage()}) {
    if (where != nullptr && damage == &tape.damage()) continue; // that was said when the tape was opened
    for (const std::string& sentence : damage_sentences(*damage)) say(options.tape + ": " + sentence);
  }
  return written ? kOk : kTrouble;
}

// Filters may ask for names and moments, which come with the index.
int dump_where(DumpOptions& options) {
  const Result<TapeView> view = ReportOptions().open(options.tape);
  if (!view) return fail(view.error());
  Result<Filter> where = Filter::parse(options.where, FilterOf::Events, view.value());
  if (!where) return fail(where.error());
  const Result<EventFilter> filter = make_filter(options, view.value().tape());
  if (!filter) return fail(filter.error());
  return print_events(view.value().tape(), filter.value(), &where.value(), options);
}

} // namespace

int dump(Arguments arguments) {
  DumpOptions options;
  CLI::App app("", "dump");
  app.add_option("--from", options.from, "first event to print")->type_name("POSITION");
  app.add_option("--to", options.to, "last event to print")->type_name("POSITION");
  app.add_option("--thread", options.thread, "events of this thread only: its number on the tape, or the kernel's id")
      ->type_name("N");
  app.add_option("--kind", options.kinds,
                 "events of these kinds only, separated by commas: malloc, free, new[], ... or the groups alloc, "
                 "release, map, pool")
      ->type_name("KINDS");
  app.add_option("--where", options.where,
                 "events that a filter accepts, such as 'size>1M and fn~parse' (docs/guide/filters.md)")
      ->type_name("FILTER");
  app.add_flag("--no-stacks", options.no_stacks, "leave out the call stacks: one line per event");
  app.add_flag("--json", options.json, "one JSON object per line");
  app.add_option("TAPE", options.tape);
  if (const auto status = parse(app, kHelp, arguments)) return *status;

  if (!options.where.empty()) return dump_where(options);
  const Result<TapeReader> tape = open_chosen_tape(options.tape);
  if (!tape) return fail(tape.error());
  const Result<EventFilter> filter = make_filter(options, tape.value());
  if (!filter) return fail(filter.error());
  return print_events(tape.value(), filter.value(), nullptr, options);
}

} // namespace heaptape::cli
