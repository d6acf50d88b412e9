// heaptape dump: every event of a tape, in order.
#include <algorithm>
#include <unordered_map>

#include "base/number_text.h"
#include "cli/commands/commands.h"
#include "cli/options/choose_tape.h"
#include "cli/options/command_line.h"
#include "cli/options/event_filter.h"
#include "cli/options/report_options.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "report/pages/event_text.h"
#include "report/pages/frame_names.h"
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
        "kind, address and size, and below it the call stack, innermost frame first, as module+offset. The program's "
        "own marks, texts and numbers appear in between.",
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
  std::string tape, from, to, thread, kinds, where;
  bool json = false;
  bool no_stacks = false;
  bool cpu = false;
};

// Numbers and times need no index; the peak, marks and sums do.
bool is_plain(const std::string& position) { return position.empty() || parse_position(position).ok(); }
bool is_time(const std::string& position) {
  const Result<Position> parsed = parse_position(position);
  return position.empty() || (parsed.ok() && parsed.value().is_time);
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

// As the kernel names a program's first thread.
std::string short_program_name(const TapeReader& tape) {
  const auto program = tape.meta().find("program");
  if (program == tape.meta().end()) return {};
  return program->second.substr(program->second.rfind('/') + 1).substr(0, 15);
}

// The kernel's ids by the tape's numbers.
std::unordered_map<std::uint32_t, std::uint32_t> kernel_ids(const TapeReader& tape) {
  std::unordered_map<std::uint32_t, std::uint32_t> ids;
  for (const Thread& thread : tape.threads()) ids[thread.id.value] = thread.tid;
  return ids;
}

// What the program said about itself, in order; nothing where only certain events are wanted.
std::vector<Mark> marks_to_print(const TapeReader& tape, const EventFilter& filter, const DumpOptions& options) {
  if (!options.kinds.empty() || !options.where.empty()) return {};
  std::vector<Mark> marks = tape.marks();
  const auto place = [](const Mark& mark, const Position& position) {
    return position.is_time ? mark.time_us : mark.event;
  };
  std::erase_if(marks, [&](const Mark& mark) {
    return (filter.from && place(mark, *filter.from) < filter.from->value) ||
           (filter.to && place(mark, *filter.to) > filter.to->value) ||
           (filter.threads &&
            std::find(filter.threads->begin(), filter.threads->end(), mark.thread) == filter.threads->end());
  });
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.event < b.event; });
  return marks;
}

// Names that tell threads apart: not those that all threads of a program have from the beginning.
void print_thread_names(Output& output, const TapeReader& tape) {
  constexpr std::size_t kMost = 40;
  std::size_t printed = 0;
  const std::string usual = tape.threads().empty() ? "" : tape.threads().front().name;
  for (const Thread& thread : tape.threads()) {
    if (thread.name.empty() || (thread.name == usual && thread.id != tape.threads().front().id)) continue;
    if (thread.name == usual && thread.name == short_program_name(tape)) continue;
    if (++printed > kMost) return output.print("# ... ('heaptape threads' lists all)\n");
    output.print("# T{} is {}\n", thread.id.value, printable(thread.name));
  }
}

int print_events(const TapeReader& tape, const EventFilter& filter, Filter* where, const DumpOptions& options) {
  Output output;
  FrameNames names(tape.modules(), tape.stacks());
  FrameNames* const names_or_none = options.no_stacks ? nullptr : &names;
  const ColumnWidths widths = ColumnWidths::of(tape);
  const auto tids = kernel_ids(tape);
  const Filter::Bounds bounds = where != nullptr ? where->bounds() : Filter::Bounds();
  EventCursor cursor = cursor_at(tape, filter.from, bounds);
  if (!options.json) {
    print_thread_names(output, tape);
    append_titles(output.buffer(), widths);
  }
  const std::vector<Mark> marks = marks_to_print(tape, filter, options);
  auto mark = marks.begin();
  const auto print_marks = [&](std::uint64_t before) {
    for (; mark != marks.end() && mark->event < before; ++mark) {
      if (options.json)
        append_mark_json(output.buffer(), *mark);
      else
        append_mark(output.buffer(), *mark, widths);
      output.write_if_full();
    }
  };
  while (const Event* event = cursor.next()) {
    if (filter.is_past(*event) || output.failed()) break;
    if (event->number > bounds.last_event || event->time_us > bounds.last_us) break;
    if (!filter.accepts(*event) || (where != nullptr && !where->matches(*event))) continue;
    print_marks(event->number);
    if (options.json) {
      const auto tid = tids.find(event->thread.value);
      append_event_json(output.buffer(), *event, tid != tids.end() ? tid->second : 0, names_or_none, tape.pools());
    } else {
      append_event(output.buffer(), *event, widths, tape.pools());
      if (names_or_none != nullptr) append_stack(output.buffer(), *event, names);
    }
    output.write_if_full();
  }
  print_marks(~std::uint64_t{0});
  const bool written = output.finish();
  for (const std::vector<Damage>* damage : {&tape.damage(), &cursor.damage()}) {
    if (where != nullptr && damage == &tape.damage()) continue; // that was said when the tape was opened
    for (const std::string& sentence : damage_sentences(*damage)) say(options.tape + ": " + sentence);
  }
  return written ? kOk : kTrouble;
}

// The samples of the CPU profile.
int print_cpu(const TapeReader& tape, const EventFilter& filter, const DumpOptions& options) {
  Output output;
  FrameNames names(tape.modules(), tape.stacks());
  const auto tids = kernel_ids(tape);
  if (!options.json) output.print("# time in s  thread  periods  segment\n");
  for (const CpuSample& sample : tape.cpu().samples) {
    Event event; // as far as time, thread and stack go, they are alike
    event.time_us = sample.time_us;
    event.thread = sample.thread;
    event.stack = sample.stack;
    event.kind = EventKind::Malloc; // any
    if (filter.is_past(event) || !filter.accepts(event)) continue;
    if (options.json) {
      const auto tid = tids.find(sample.thread.value);
      output.print(R"({{"time_us":{},"thread":{},"tid":{},"weight":{},"segment":{},"stack":{})", sample.time_us,
                   sample.thread.value, tid != tids.end() ? tid->second : 0, sample.weight, sample.segment,
                   sample.stack.value);
      if (!options.no_stacks) {
        output.print(R"(,"frames":[)");
        const char* separator = "";
        names.each_frame(sample.stack, [&](StackId node, std::uint64_t) {
          output.print("{}{}", separator, names.json(node, sample.time_us));
          separator = ",";
        });
        output.print("]");
      }
      output.print("}}\n");
    } else {
      output.print("{:>12}  T{:<5} {:>8} {:>8}\n", seconds_text(sample.time_us), sample.thread.value, sample.weight,
                   sample.segment);
      if (!options.no_stacks) append_stack(output.buffer(), event, names);
    }
    output.write_if_full();
    if (output.failed()) break;
  }
  return output.finish() ? kOk : kTrouble;
}

// Filters may ask for names and moments, which come with the index.
int dump_with_index(DumpOptions& options) {
  const Result<TapeView> view = ReportOptions().open(options.tape);
  if (!view) return fail(view.error());
  Result<Filter> where = Filter::parse(options.where, FilterOf::Events, view.value());
  if (!where) return fail(where.error());
  const Result<EventFilter> filter = make_filter(options, view.value().tape(), &view.value());
  if (!filter) return fail(filter.error());
  return print_events(view.value().tape(), filter.value(), &where.value(), options);
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
            "only events that match, such as 'size>1M and fn~parse' (docs/guide/filters.md)");
  list.flag("--no-stacks", options.no_stacks, "leave out the call stacks: one line per event");
  list.flag("--cpu", options.cpu, "print the samples of the CPU profile instead of events");
  list.flag("--json", options.json, "print one JSON object per line");
  list.word("TAPE", options.tape);
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
  const Result<EventFilter> filter = make_filter(options, tape.value(), nullptr);
  if (!filter) return fail(filter.error());
  if (options.cpu) return print_cpu(tape.value(), filter.value(), options);
  return print_events(tape.value(), filter.value(), nullptr, options);
}

} // namespace heaptape::cli
