// Commands about single events.
#include <fmt/format.h>

#include "analysis/moment/event_search.h"
#include "base/number_text.h"
#include "report/figures/pools.h"
#include "report/select/filter.h"
#include "report/text/mark_text.h"
#include "shell/all_commands.h"
#include "shell/describe.h"
#include "shell/odd_calls.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kDefaultEvents = 20;

void write_event_json(JsonWriter& json, Session& session, const Event& event, const Block* ended, bool with_stack,
                      bool with_odd_calls = false) {
  json.begin_object().field("number", event.number).field("time_us", event.time_us);
  json.field("thread", event.thread.value).field("kind", kind_name(event.kind));
  json.field("address", std::string_view(hex(event.address)));
  if (has_size(event.kind)) json.field("size", event.size);
  if (replaced_by(event) != 0) json.field("old_address", std::string_view(hex(replaced_by(event))));
  if (is_pool(event.kind)) {
    const std::string pool = pool_name(session.tape().pools(), pool_of(event));
    json.field("pool", std::string_view(pool));
  }
  if (ended != nullptr) json.field("ended_size", ended->size).field("ended_event", ended->event);
  json.field("stack_id", event.stack.value);
  if (with_stack) {
    json.key("stack");
    session.stacks().write_json(json, event.stack);
  }
  if (with_odd_calls) write_odd_calls(json.key("odd_calls"), session, odd_calls_of(session, event.number));
  json.end_object();
}

// Remembers the block that an event ends.
struct Ended : HeapListener {
  std::optional<Block> block{};
  std::optional<Owner> owner{};
  void ended(const Block& one, const Event&) { block = one; }
};

// The events after `after`, up to `last`, with the blocks that they end; visit() ends it by false.
template <class Visit>
void replay(const Session& session, std::uint64_t after, std::uint64_t last, Visit visit) {
  HeapCursor heap(session.tape(), session.view().index());
  heap.seek_event(after);
  HeapState state = heap.take_state();
  EventCursor cursor = session.tape().events(after + 1);
  for (auto run = cursor.next_run_until(last); !run.empty(); run = cursor.next_run_until(last)) {
    for (const Event& event : run) {
      Ended ended;
      state.apply(event, ended);
      if (ended.block) ended.owner = state.owners()[ended.block->owner];
      if (!visit(event, ended)) return;
    }
  }
}

struct Stretch {
  std::uint64_t after = 0, last = 0; // event numbers
};

// Up to the cursor by default: what happened just before.
Result<Stretch> stretch_in(Session& session, Call& call) {
  std::optional<Moment> ends[2];
  for (std::optional<Moment>& end : ends) {
    const auto word = call.peek();
    if (!word) break;
    const Result<Moment> moment = session.position(*word);
    if (!moment) {
      // The rest is a filter, unless it cannot be one.
      if (word->find_first_of("=<>~") != std::string::npos || *word == "not" || word->starts_with('(')) break;
      if (&end != ends && (*word == "freed" || *word == "live")) break;
      return moment.error();
    }
    call.next();
    end = moment.value();
  }
  if (!ends[0]) {
    const std::uint64_t here = session.event();
    return Stretch{here > kDefaultEvents ? here - kDefaultEvents : 0, here};
  }
  // Events that are named are shown: A and B both are.
  const std::uint64_t first = std::max<std::uint64_t>(ends[0]->event, 1);
  if (!ends[1]) return Stretch{first - 1, std::min(first + kDefaultEvents - 1, session.last_event())};
  if (ends[1]->event < ends[0]->event) return Error{ErrorCode::Usage, "the second position is before the first"};
  return Stretch{first - 1, ends[1]->event};
}

Result<> events(Session& session, Call& call, Printer& out) {
  const bool json = call.flag("--json"), with_stacks = call.flag("--stacks");
  const Result<Stretch> stretch = stretch_in(session, call);
  if (!stretch) return stretch.error();
  const std::string text = call.rest();
  Result<Filter> filter = Filter::parse(text, FilterOf::Events, session.view());
  if (!filter) return filter.error();

  if (!json) out.print(event_titles());
  std::uint64_t shown = 0;
  replay(session, stretch.value().after, stretch.value().last, [&](const Event& event, const Ended& ended) {
    if (session.should_stop()) return false;
    if (!filter.value().matches(event)) return true;
    ++shown;
    if (json) {
      JsonWriter line;
      write_event_json(line, session, event, ended.block ? &*ended.block : nullptr, with_stacks);
      return out.print(line.text() + "\n");
    }
    std::string line = event_line(event, ended.block ? &*ended.block : nullptr);
    if (!with_stacks) line += "  " + session.stacks().site(event.stack);
    line = session.style.width != 0 ? shortened(line, session.style.width) : line;
    if (event.number == session.event()) line = session.style.bold(line);
    line += "\n";
    if (with_stacks) line += session.stacks().frames(event.stack, "                ", session.style);
    return out.print(line);
  });
  if (shown == 0 && !json) out.print("none\n");
  return Unit{};
}

Result<std::uint64_t> event_in(Session& session, Call& call) {
  const auto word = call.next();
  if (const Result<> done = call.finish(); !done) return done.error();
  if (!word) return session.event();
  const Result<Moment> moment = session.position(*word);
  if (!moment) return moment.error();
  return moment.value().event;
}

// Why a release ended no block.
std::string bad_release_reason(Session& session, const Event& event) {
  const History past = history_of(
      session.tape(),
      {.range = {event.address, event.address + 1}, .until = event.number - 1, .should_stop = session.stopper()});
  if (past.lives.empty()) return "  no block of this tape began there: it was made before the recording, or never\n";
  const Tenant& last = past.lives.back();
  if (last.ended == LifeEnd::Live) {
    return fmt::format("  no block begins there: it lies {} bytes into the {} of event {}\n",
                       event.address - last.address, block_words(last.size), with_separators(last.event));
  }
  std::string text = fmt::format("  a double free: its {} was freed {} ({})\n", block_words(last.size),
                                 ago_text(last.end_us, event.time_us), moment_text(last.end_event, last.end_us));
  return text + session.stacks().frames(last.ender.stack, "    ", session.style);
}

Result<> event(Session& session, Call& call, Printer& out) {
  const bool json = call.flag("--json");
  const Result<std::uint64_t> number = event_in(session, call);
  if (!number) return number.error();
  if (number.value() == 0) return Error{ErrorCode::Usage, "there is no event before the first; try 'event 1'"};
  bool found = false;
  replay(session, number.value() - 1, number.value(), [&](const Event& event, const Ended& ended) {
    found = true;
    if (json) {
      JsonWriter line;
      write_event_json(line, session, event, ended.block ? &*ended.block : nullptr, true, true);
      out.print(line.text() + "\n");
      return true;
    }
    std::string text = fmt::format("event {} at {} s, {}\n", with_separators(event.number), seconds_text(event.time_us),
                                   thread_text(session, event.thread));
    text += fmt::format("  {} {}", kind_name(event.kind), hex(event.address));
    if (has_size(event.kind)) text += ", " + count_of(event.size, "byte");
    if (replaced_by(event) != 0) text += " of " + hex(replaced_by(event));
    if (is_pool(event.kind)) {
      if (event.address == 0) text += ", everything";
      text += fmt::format(" in pool '{}'", pool_name(session.tape().pools(), pool_of(event)));
    }
    text += "\n" + session.stacks().frames(event.stack, "    ", session.style);
    if (ended.block) {
      text += fmt::format("  it ended the {} at {}, made {} ({})\n", block_words(ended.block->size),
                          hex(ended.block->address), ago_text(ended.block->time_us, event.time_us),
                          moment_text(ended.block->event, ended.block->time_us));
      text += session.stacks().frames(ended.owner->stack, "    ", session.style);
    } else if (is_release(event.kind)) {
      text += event.address == 0 ? "  it released nothing: the address is null\n" : bad_release_reason(session, event);
    }
    text += odd_calls_text(session, odd_calls_of(session, event.number));
    out.print(text);
    return true;
  });
  if (!found)
    return Error{ErrorCode::NotFound,
                 "event " + with_separators(number.value()) + " cannot be read: the tape is damaged there"};
  return Unit{};
}

Result<> stack(Session& session, Call& call, Printer& out) {
  const bool json = call.flag("--json");
  const Result<std::uint64_t> number = event_in(session, call);
  if (!number) return number.error();
  const auto event = event_numbered(session.tape(), number.value());
  if (!event)
    return Error{ErrorCode::NotFound, "there is no event " + with_separators(number.value()) + " to show the stack of"};
  if (json) {
    JsonWriter writer;
    session.stacks().write_json(writer, event->stack);
    out.print(writer.text() + "\n");
  } else {
    out.print(session.stacks().frames(event->stack, "", session.style));
  }
  return Unit{};
}

// The program's own words, in order with the events.
Result<> text(Session& session, Call& call, Printer& out) {
  const std::string wanted = call.next().value_or("");
  if (const Result<> done = call.finish(); !done) return done.error();
  const Result<Pattern> pattern = Pattern::compile(wanted);
  if (!pattern) return pattern.error();
  std::size_t shown = 0;
  for (const Mark& mark : session.view().marks()) {
    if (!wanted.empty() && !pattern.value().matches(mark_words(mark))) continue;
    ++shown;
    if (!out.print(mark_row(mark) + "\n")) break;
  }
  if (shown == 0) out.print(wanted.empty() ? "the program wrote no annotations\n" : "no annotation matches\n");
  return Unit{};
}

constexpr CommandOption kEventsOptions[] = {
    {"--stacks", "with every frame"},
    {"--json", "one object per line"},
};

} // namespace

const Command kEventsCommand{.name = "events",
                             .arguments = "[A [B]] [FILTER]",
                             .summary = "list events: the last ones before the cursor, or from A to B",
                             .help = "Without positions: the twenty events up to the cursor; with one position: the\n"
                                     "twenty from there on. The size of a released block stands in parentheses.\n",
                             .example = "events @-100 @ kind=release",
                             .group = CommandGroup::Asking,
                             .takes = Takes::Position,
                             .run = events,
                             .alias = "e",
                             .options = kEventsOptions};
const Command kEventCommand{.name = "event",
                            .arguments = "[POSITION]",
                            .summary = "everything about one event",
                            .help = "The event at the cursor, or another. For a release, also the block it freed.\n",
                            .example = "event 4711",
                            .group = CommandGroup::Asking,
                            .takes = Takes::Position,
                            .run = event,
                            .options = kJsonOption};
const Command kStackCommand{.name = "stack",
                            .arguments = "[POSITION]",
                            .summary = "the call stack of an event",
                            .help = "Innermost frame first, with inlined functions.\n",
                            .example = "stack peak",
                            .group = CommandGroup::Asking,
                            .takes = Takes::Position,
                            .run = stack,
                            .alias = "bt",
                            .options = kJsonOption};
const Command kTextCommand{.name = "text",
                           .arguments = "[PATTERN]",
                           .summary = "annotations that the program wrote, in order",
                           .help = "Texts, numbers, marks, check points and scopes, each with the event before it.\n"
                                   "PATTERN is a regular expression to look for in them.\n",
                           .example = "text request",
                           .group = CommandGroup::Asking,
                           .run = text};

} // namespace heaptape
