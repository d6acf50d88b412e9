// Commands that move the cursor.
#include <algorithm>

#include <fmt/format.h>

#include "analysis/moment/event_search.h"
#include "base/number_text.h"
#include "report/select/filter.h"
#include "report/text/mark_text.h"
#include "report/text/snapshot_names.h"
#include "shell/all_commands.h"
#include "shell/describe.h"

namespace heaptape {
namespace {

// Where the cursor stands now, and the event that brought it there.
Result<> say_where(Session& session, Printer& out) {
  std::string text = moment_text(session.event(), session.time_us());
  if (session.event() == 0) text = "before the first event";
  if (session.event() == session.last_event()) text += ", the last one";
  text += "\n";
  if (const auto event = event_numbered(session.tape(), session.event())) {
    text += fmt::format("  T{}  {} {}{}\n", event->thread.value, kind_name(event->kind), hex(event->address),
                        event->size != 0 ? ", " + count_of(event->size, "byte") : "");
    text += "    " + session.stacks().chain(event->stack, 4) + "\n";
  }
  out.print(text);
  return Unit{};
}

Result<> go_to(Session& session, Call& call, Printer& out) {
  // Marks may have names of several words.
  std::string text;
  while (const auto word = call.next()) text += (text.empty() ? "" : " ") + *word;
  if (text.empty()) {
    return Error{ErrorCode::Usage, "goto needs a position: an event's number, 12.5s, ^, $, peak, a mark, "
                                   "snapshot:2, +N, -N"};
  }
  const Result<Moment> moment = session.position(text);
  if (!moment) return moment.error();
  session.move_to(moment.value());
  return say_where(session, out);
}

Result<std::uint64_t> count_in(Call& call) {
  const auto word = call.peek();
  if (!word || word->find_first_not_of("0123456789") != std::string::npos || word->size() > 18) return std::uint64_t{1};
  call.next();
  const std::uint64_t count = std::stoull(*word);
  if (count == 0) return Error{ErrorCode::Usage, "give a count of at least 1"};
  return count;
}

enum class Way : std::uint8_t { Forward, Back };

Result<Filter> filter_in(const Session& session, Call& call) {
  return Filter::parse(call.rest(), FilterOf::Events, session.view());
}

// The event `count` matching ones after the cursor.
std::optional<Event> ahead(const Session& session, Filter& filter, std::uint64_t count) {
  EventSearch search{.first = session.event() + 1, .last = session.last_event(), .should_stop = session.stopper()};
  if (filter.matches_everything())
    search.first += count - 1;
  else
    search.accept = [&filter, left = count](const Event& event) mutable {
      return filter.matches(event) && --left == 0;
    };
  return find_first_event(session.tape(), search);
}

// The event `count` matching ones before the cursor's.
std::optional<Event> behind(const Session& session, Filter& filter, std::uint64_t count) {
  std::uint64_t at = session.event();
  if (filter.matches_everything()) return at > count ? event_numbered(session.tape(), at - count) : std::nullopt;
  EventSearch search{.accept = [&](const Event& event) { return filter.matches(event); },
                     .should_stop = session.stopper()};
  std::optional<Event> found;
  for (std::uint64_t i = 0; i < count && at > 1; ++i) {
    search.last = at - 1;
    found = find_last_event(session.tape(), search);
    if (!found) break;
    at = found->number;
    if (i + 1 < count) found.reset();
  }
  return found;
}

Result<> land(Session& session, const std::optional<Event>& found, std::string_view nothing, Printer& out) {
  if (!found) {
    return Error{session.should_stop() ? ErrorCode::Stopped : ErrorCode::NotFound,
                 std::string(session.should_stop() ? "stopped" : nothing) + "; the cursor stays where it was"};
  }
  session.move_to({found->number, found->time_us});
  return say_where(session, out);
}

// "snapshot" behind next, previous or last.
bool is_snapshot(const std::string& word) { return word == "snapshot" || word == "snapshots"; }

Result<> go_to_snapshot(Session& session, Call& call, Printer& out, const char* which) {
  if (const Result<> done = call.finish(); !done) return done.error();
  const Result<Moment> moment = session.position(std::string(which) + " snapshot");
  if (!moment) return Error{moment.error().code, moment.error().sentence + "; the cursor stays where it was"};
  session.move_to(moment.value());
  for (const NamedSnapshot& each : named_snapshots(session.tape(), session.view().marks())) {
    if (each.event != session.event() || each.time_us != session.time_us()) continue;
    out.print(fmt::format("snapshot {}'{}'\n", each.number != 0 ? std::to_string(each.number) + " " : "",
                          printable(each.name)));
    break;
  }
  return say_where(session, out);
}

Result<> step(Session& session, Call& call, Printer& out, Way way) {
  if (call.next_if(is_snapshot)) return go_to_snapshot(session, call, out, way == Way::Forward ? "next" : "previous");
  const Result<std::uint64_t> count = count_in(call);
  if (!count) return count.error();
  Result<Filter> filter = filter_in(session, call);
  if (!filter) return filter.error();
  const bool any = filter.value().matches_everything();
  if (any && way == Way::Back && session.event() == count.value()) {
    session.move_to({});
    return say_where(session, out);
  }
  const std::string side = way == Way::Forward ? "after" : "before";
  return land(session,
              way == Way::Forward ? ahead(session, filter.value(), count.value())
                                  : behind(session, filter.value(), count.value()),
              any ? "there are fewer events than that " + side + " this one" : "no event " + side + " this one matches",
              out);
}

Result<> next(Session& session, Call& call, Printer& out) { return step(session, call, out, Way::Forward); }
Result<> previous(Session& session, Call& call, Printer& out) { return step(session, call, out, Way::Back); }

Result<> last(Session& session, Call& call, Printer& out) {
  if (call.next_if(is_snapshot)) return go_to_snapshot(session, call, out, "last");
  Result<Filter> filter = filter_in(session, call);
  if (!filter) return filter.error();
  const EventSearch search{.accept = [&](const Event& event) { return filter.value().matches(event); },
                           .last = session.last_event(),
                           .should_stop = session.stopper()};
  return land(session, find_last_event(session.tape(), search), "no event matches", out);
}

Result<> find(Session& session, Call& call, Printer& out) {
  const bool back = call.flag("--back");
  const bool first = call.flag("--first");
  const bool last = call.flag("--last");
  if (back + first + last > 1) return Error{ErrorCode::Usage, "give only one of --back, --first and --last"};
  if (!call.peek()) return Error{ErrorCode::Usage, "find needs a filter, such as: find size>1M and fn~\"parse\""};
  if (!first && !last) return step(session, call, out, back ? Way::Back : Way::Forward);
  Result<Filter> filter = filter_in(session, call);
  if (!filter) return filter.error();
  const EventSearch search{.accept = [&](const Event& event) { return filter.value().matches(event); },
                           .last = session.last_event(),
                           .should_stop = session.stopper()};
  return land(session, first ? find_first_event(session.tape(), search) : find_last_event(session.tape(), search),
              "no event matches", out);
}

// The mark that a word such as "next" means, seen from the cursor.
Result<const Mark*> mark_named(const Session& session, const std::string& word) {
  const std::vector<Mark>& all = session.view().marks();
  const auto reached = [&](const Mark& mark) { return mark.event <= session.last_event(); };
  const Mark* found = nullptr;
  for (const Mark& mark : all) {
    if (!reached(mark) || !is_moment(mark)) continue;
    const auto at = std::pair(mark.event, mark.time_us), here = std::pair(session.event(), session.time_us());
    if (word == "first" && found == nullptr) found = &mark;
    if (word == "next" && found == nullptr && at > here) found = &mark;
    if (word == "last" || (word == "prev" && at < here)) found = &mark;
  }
  if (word != "first" && word != "next" && word != "last" && word != "prev") {
    return Error{ErrorCode::Usage, "marks takes next, prev, first or last, not '" + printable(word) +
                                       "'; 'goto NAME' goes to one by its name"};
  }
  if (found == nullptr)
    return Error{ErrorCode::NotFound,
                 std::none_of(all.begin(), all.end(), is_moment)
                     ? "the program set no marks"
                     : "there is no mark " + std::string(word == "next" ? "after" : "before") + " this moment"};
  return found;
}

Result<> marks(Session& session, Call& call, Printer& out) {
  const bool json = call.flag("--json");
  const auto word = call.next();
  if (const Result<> done = call.finish(); !done) return done.error();
  if (word) {
    const Result<const Mark*> mark = mark_named(session, *word);
    if (!mark) return mark.error();
    session.move_to({mark.value()->event, mark.value()->time_us});
    out.print("mark '" + printable(mark.value()->name) + "'\n");
    return say_where(session, out);
  }
  if (json) {
    JsonWriter writer;
    writer.begin_array();
    for (const Mark& mark : session.view().marks()) {
      writer.begin_object();
      write_mark_fields(writer, mark);
      writer.end_object();
    }
    out.print(writer.end_array().text() + "\n");
    return Unit{};
  }
  if (session.view().marks().empty()) {
    out.print("the program set no marks (see heaptape_mark() in <heaptape/heaptape.h>)\n");
    return Unit{};
  }
  for (const Mark& mark : session.view().marks()) {
    const bool here = mark.event == session.event();
    if (!out.print(fmt::format("{} {}\n", here ? '>' : ' ', mark_row(mark)))) break;
  }
  return Unit{};
}

Result<> peak(Session& session, Call& call, Printer& out) {
  if (const Result<> done = call.finish(); !done) return done.error();
  const Result<Moment> moment = session.position("peak");
  if (!moment) return moment.error();
  session.move_to(moment.value());
  out.print(fmt::format("{} live at the peak\n", exact_bytes_text(session.heap().totals().live_bytes)));
  return say_where(session, out);
}

constexpr CommandOption kFindOptions[] = {
    {"--back", "search towards the start"},
    {"--first", "find the first event of the whole tape that matches"},
    {"--last", "find the last one"},
};

} // namespace

const Command kGotoCommand{.name = "goto",
                           .arguments = "POSITION",
                           .summary = "go to an event, a time, a mark, the peak",
                           .help = "A position is an event's number, a time since the start (12.5s, 200ms, 2min),\n"
                                   "^ or start, $ or end, @ (the cursor), peak, the name of a mark, +N or -N events\n"
                                   "or +200ms from here, and sums of these: @-5, peak+1, $-100, loaded+20ms; also\n"
                                   "snapshot:2 and snapshot:NAME ('snapshots' lists them), snapshot (the next one),\n"
                                   "previous snapshot, first snapshot, last snapshot.\n",
                           .example = "goto peak-1",
                           .group = CommandGroup::Moving,
                           .takes = Takes::Position,
                           .run = go_to,
                           .alias = "g"};
const Command kNextCommand{.name = "next",
                           .arguments = "[N] [FILTER] | snapshot",
                           .summary = "go N events forward, or to the Nth that matches",
                           .help = "Without a filter every event counts. 'help filters' lists what filters can test.\n"
                                   "'next snapshot' goes to the next snapshot of the tape.\n",
                           .example = "next kind=release and fn~\"Cache\"",
                           .group = CommandGroup::Moving,
                           .takes = Takes::Filter,
                           .run = next,
                           .alias = "n"};
const Command kPreviousCommand{.name = "previous",
                               .arguments = "[N] [FILTER] | snapshot",
                               .summary = "go N events back, or to the Nth before that matches",
                               .help = "The mirror image of next.\n",
                               .example = "previous size>1M",
                               .group = CommandGroup::Moving,
                               .takes = Takes::Filter,
                               .run = previous,
                               .alias = "p"};
const Command kLastCommand{.name = "last",
                           .arguments = "[FILTER] | snapshot",
                           .summary = "go to the last event, the last that matches, the last snapshot",
                           .help = "The same as 'find --last'.\n",
                           .example = "last snapshot",
                           .group = CommandGroup::Moving,
                           .takes = Takes::Filter,
                           .run = last};
const Command kFindCommand{.name = "find",
                           .arguments = "[--back] FILTER",
                           .summary = "go to the next event that matches",
                           .help = "The cursor stays where it was when nothing matches.\n",
                           .example = "find --last address=0x55d0c4a2e2a0",
                           .group = CommandGroup::Moving,
                           .takes = Takes::Filter,
                           .run = find,
                           .alias = "/",
                           .options = kFindOptions};
const Command kMarksCommand{.name = "marks",
                            .arguments = "[next|prev|first|last]",
                            .summary = "the moments that the program named itself",
                            .help = "Each with its event, time and thread; '>' is the one at the cursor. Texts and\n"
                                    "numbers are listed too; 'text' searches them. With a word the cursor goes to the\n"
                                    "next mark, the one before, the first or the last.\n",
                            .example = "marks next",
                            .group = CommandGroup::Moving,
                            .run = marks,
                            .options = kJsonOption};
const Command kPeakCommand{.name = "peak",
                           .arguments = "",
                           .summary = "go to the moment when most was live",
                           .help = "The same as 'goto peak', and says how much it was.\n",
                           .example = "peak",
                           .group = CommandGroup::Moving,
                           .run = peak};

} // namespace heaptape
