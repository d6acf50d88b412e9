// The heap at and between moments that the program named: check points, and scopes.
#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "analysis/moment/totals_at.h"
#include "base/number_text.h"
#include "report/text/mark_text.h"
#include "shell/all_commands.h"
#include "shell/describe.h"

namespace heaptape {
namespace {

// What happened to the heap from one moment to another.
struct Change {
  std::uint64_t allocated_bytes = 0, allocated_blocks = 0;
  std::uint64_t freed_bytes = 0, freed_blocks = 0;
  std::int64_t live_bytes = 0, live_blocks = 0;

  Change& operator+=(const Change& other) {
    allocated_bytes += other.allocated_bytes;
    allocated_blocks += other.allocated_blocks;
    freed_bytes += other.freed_bytes;
    freed_blocks += other.freed_blocks;
    live_bytes += other.live_bytes;
    live_blocks += other.live_blocks;
    return *this;
  }
};

Change between(const HeapTotals& from, const HeapTotals& to) {
  Change change;
  change.allocated_bytes = to.allocated_bytes - from.allocated_bytes;
  change.allocated_blocks = to.allocated_blocks - from.allocated_blocks;
  change.live_bytes = static_cast<std::int64_t>(to.live_bytes - from.live_bytes);
  change.live_blocks = static_cast<std::int64_t>(to.live_blocks - from.live_blocks);
  change.freed_bytes = change.allocated_bytes - static_cast<std::uint64_t>(change.live_bytes);
  change.freed_blocks = change.allocated_blocks - static_cast<std::uint64_t>(change.live_blocks);
  return change;
}

std::string signed_bytes(std::int64_t bytes) {
  if (bytes == 0) return "0";
  const std::uint64_t size = bytes < 0 ? 0 - static_cast<std::uint64_t>(bytes) : static_cast<std::uint64_t>(bytes);
  return (bytes < 0 ? "-" : "+") + bytes_text(size);
}

void write_change(JsonWriter& json, const Change& change) {
  json.field("allocated_bytes", change.allocated_bytes).field("allocated_blocks", change.allocated_blocks);
  json.field("freed_bytes", change.freed_bytes).field("freed_blocks", change.freed_blocks);
  json.field("live_bytes_change", change.live_bytes).field("live_blocks_change", change.live_blocks);
}

// The totals at each mark; an Error when the user stopped it.
Result<std::vector<HeapTotals>> totals_of(Session& session, const std::vector<Mark>& marks) {
  std::vector<std::uint64_t> events;
  for (const Mark& mark : marks) events.push_back(std::min(mark.event, session.last_event()));
  // Marks of several threads may come onto the tape a little out of order.
  std::vector<std::uint64_t> ordered = events;
  std::sort(ordered.begin(), ordered.end());
  std::vector<Damage> damage;
  const std::vector<HeapTotals> found = totals_at(session.tape(), ordered, session.stopper(), damage);
  session.note(damage);
  if (found.size() < ordered.size()) return Error{ErrorCode::Stopped, "stopped"};
  std::vector<HeapTotals> totals;
  for (const std::uint64_t event : events) {
    const auto at = std::lower_bound(ordered.begin(), ordered.end(), event) - ordered.begin();
    totals.push_back(found[static_cast<std::size_t>(at)]);
  }
  return totals;
}

Result<> checkpoints(Session& session, Call& call, Printer& out) {
  const bool json = call.flag("--json");
  if (const Result<> done = call.finish(); !done) return done.error();
  std::vector<Mark> marks;
  for (const Mark& mark : session.view().marks()) {
    if (mark.kind == MarkKind::CheckPoint) marks.push_back(mark);
  }
  const bool of_marks = marks.empty();
  if (of_marks) marks = moments_of(session.view().marks());
  const Result<std::vector<HeapTotals>> totals = totals_of(session, marks);
  if (!totals) return totals.error();
  HeapTotals before;
  JsonWriter writer;
  if (json)
    writer.begin_array();
  else if (marks.empty())
    out.print("the program made no check points (see heaptape_checkpoint() in <heaptape/heaptape.h>)\n");
  else
    out.print(fmt::format("{:>12} {:>10} {:>11} {:>10} {:>10}  {}\n", "seconds", "live", "change", "allocated", "freed",
                          of_marks ? "mark" : "check point"));
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const HeapTotals& now = totals.value()[i];
    const Change change = between(before, now);
    before = now;
    if (json) {
      writer.begin_object();
      write_mark_fields(writer, marks[i]);
      writer.field("live_bytes", now.live_bytes).field("live_blocks", now.live_blocks);
      write_change(writer, change);
      writer.end_object();
      continue;
    }
    if (!out.print(fmt::format("{:>12} {:>10} {:>11} {:>10} {:>10}  {}\n", seconds_text(marks[i].time_us),
                               bytes_text(now.live_bytes), signed_bytes(change.live_bytes),
                               bytes_text(change.allocated_bytes), bytes_text(change.freed_bytes),
                               mark_words(marks[i]))))
      break;
  }
  if (json) out.print(writer.end_array().text() + "\n");
  return Unit{};
}

// All scopes of one name.
struct ScopeSum {
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t us = 0;
  Change change{};
};

std::string scope_name(const Mark& mark) {
  const std::string_view suffix = mark.kind == MarkKind::ScopeBegin ? " begin" : " end";
  return mark.name.ends_with(suffix) ? mark.name.substr(0, mark.name.size() - suffix.size()) : mark.name;
}

std::vector<ScopeSum> sum_up(const std::vector<Mark>& marks, const std::vector<HeapTotals>& totals) {
  std::map<std::pair<std::uint32_t, std::string>, std::vector<std::size_t>> open; // by thread and name
  std::map<std::string, ScopeSum> sums;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const std::string name = scope_name(marks[i]);
    std::vector<std::size_t>& begun = open[{marks[i].thread.value, name}];
    if (marks[i].kind == MarkKind::ScopeBegin) {
      begun.push_back(i);
    } else if (!begun.empty()) {
      ScopeSum& sum = sums[name];
      sum.name = name;
      ++sum.count;
      sum.us += marks[i].time_us - std::min(marks[i].time_us, marks[begun.back()].time_us);
      sum.change += between(totals[begun.back()], totals[i]);
      begun.pop_back();
    }
  }
  std::vector<ScopeSum> all;
  for (auto& [name, sum] : sums) all.push_back(std::move(sum));
  std::stable_sort(all.begin(), all.end(), [](const ScopeSum& a, const ScopeSum& b) {
    return a.change.allocated_bytes > b.change.allocated_bytes;
  });
  return all;
}

Result<> scopes(Session& session, Call& call, Printer& out) {
  const bool json = call.flag("--json");
  if (const Result<> done = call.finish(); !done) return done.error();
  std::vector<Mark> marks;
  for (const Mark& mark : session.view().marks()) {
    if (mark.kind == MarkKind::ScopeBegin || mark.kind == MarkKind::ScopeEnd) marks.push_back(mark);
  }
  const Result<std::vector<HeapTotals>> totals = totals_of(session, marks);
  if (!totals) return totals.error();
  const std::vector<ScopeSum> sums = sum_up(marks, totals.value());
  if (json) {
    JsonWriter writer;
    writer.begin_array();
    for (const ScopeSum& sum : sums) {
      writer.begin_object().field("name", std::string_view(sum.name)).field("count", sum.count).field("us", sum.us);
      write_change(writer, sum.change);
      writer.end_object();
    }
    out.print(writer.end_array().text() + "\n");
    return Unit{};
  }
  if (sums.empty()) {
    out.print("no scope ended on this tape (see heaptape::scope in <heaptape/heaptape.h>)\n");
    return Unit{};
  }
  out.print(fmt::format("{:>9} {:>11} {:>10} {:>10} {:>10} {:>11}  {}\n", "times", "time", "allocated", "blocks",
                        "freed", "live", "scope"));
  for (const ScopeSum& sum : sums) {
    if (!out.print(fmt::format("{:>9} {:>11} {:>10} {:>10} {:>10} {:>11}  {}\n", with_separators(sum.count),
                               duration_text(sum.us), bytes_text(sum.change.allocated_bytes),
                               with_separators(sum.change.allocated_blocks), bytes_text(sum.change.freed_bytes),
                               signed_bytes(sum.change.live_bytes), printable(sum.name))))
      break;
  }
  return Unit{};
}

} // namespace

const Command kCheckpointsCommand{
    .name = "checkpoints",
    .arguments = "",
    .summary = "the heap at and between the program's check points",
    .help = "For each: what was live, and what was allocated and freed since the one before.\n"
            "For a program without check points, its marks and snapshots are shown instead.\n",
    .example = "checkpoints",
    .group = CommandGroup::Asking,
    .run = checkpoints,
    .options = kJsonOption};
const Command kScopesCommand{.name = "scopes",
                             .arguments = "",
                             .summary = "what the program's scopes cost, added up by name",
                             .help = "A scope is charged with what happens in the whole program while it lasts, in\n"
                                     "scopes inside it and in other threads too. One that never ended is left out.\n",
                             .example = "scopes",
                             .group = CommandGroup::Asking,
                             .run = scopes,
                             .options = kJsonOption};

} // namespace heaptape
