// heaptape verify: is a tape whole, and could its events have happened?
#include <functional>
#include <vector>

#include "analysis/heap_model.h"
#include "analysis/replay_check.h"
#include "cli/choose_tape.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/damage_text.h"
#include "cli/exit_codes.h"
#include "cli/quantities.h"
#include "report/json_text.h"
#include "tape/reader.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape verify [options] [TAPE]",
    .purpose =
        "Checks that every block of a tape has the right checksum and that its events could have happened: no block "
        "is made where one is live, nothing is released twice, and the totals on the tape are those of its events.",
    .more = R"(Prints one line and ends with 0 when all is well. Otherwise lists the problems, by event
where they are an event's, and ends with 1; with 2 when the file is no tape.

Examples:
  heaptape verify app.tape
  heaptape verify --json app.tape | jq .problems
)"};

constexpr std::size_t kListed = 1000; // problems; the others are counted

struct Problem {
  std::uint64_t event = 0; // 0: about the file as a whole
  std::string sentence;
};

struct Verdict {
  std::uint64_t events = 0;
  std::uint64_t unknown_releases = 0;
  std::uint64_t problem_count = 0; // all of them; the list may be shorter
  std::vector<Problem> problems;
  bool finished = false;

  void add(std::uint64_t event, std::string sentence) {
    ++problem_count;
    if (problems.size() < kListed) problems.push_back({event, std::move(sentence)});
  }
};

std::string sentence_for(const ReplayFinding& finding) {
  switch (finding.fault) {
  case ReplayFault::Overlap:
    return fmt::format("makes a block of {} at {:#x}, where the block of event {} is live",
                       count_of(finding.size, "byte"), finding.address, finding.other);
  case ReplayFault::DoubleRelease:
    return fmt::format("releases {:#x}, which event {} has released already", finding.address, finding.other);
  case ReplayFault::InteriorRelease:
    return fmt::format("releases {:#x}, which lies inside the block of event {}", finding.address, finding.other);
  }
  return "is impossible";
}

void compare(Verdict& verdict, const char* what, std::uint64_t on_tape, std::uint64_t replayed) {
  if (on_tape == replayed) return;
  verdict.add(0, fmt::format("the summary says {} {}, the events say {}", with_separators(on_tape), what,
                             with_separators(replayed)));
}

void check_summary(Verdict& verdict, const Summary& summary, const HeapTotals& totals) {
  compare(verdict, "events", summary.events, totals.events);
  compare(verdict, "bytes allocated", summary.allocated_bytes, totals.allocated_bytes);
  compare(verdict, "blocks allocated", summary.allocated_blocks, totals.allocated_blocks);
  compare(verdict, "bytes still live", summary.live_bytes, totals.live_bytes);
  compare(verdict, "blocks still live", summary.live_blocks, totals.live_blocks);
  compare(verdict, "bytes at the peak", summary.peak_bytes, totals.peak_bytes);
  compare(verdict, "as the event of the peak", summary.peak_event, totals.peak_event);
  for (std::size_t kind = 0; kind < summary.per_kind.size(); ++kind) {
    compare(verdict, fmt::format("{} events", kind_name(static_cast<EventKind>(kind))).c_str(), summary.per_kind[kind],
            totals.per_kind[kind]);
  }
}

Verdict check(const TapeReader& tape) {
  Verdict verdict;
  ReplayCheck replay;
  HeapModel heap;
  std::uint64_t last_us = 0;
  EventCursor cursor = tape.events();
  while (const Event* event = cursor.next()) {
    replay.add(*event);
    heap.apply(*event);
    if (event->time_us < last_us) verdict.add(event->number, "is earlier than the event before it");
    last_us = event->time_us;
  }
  for (const std::vector<Damage>& damage : {std::cref(tape.damage()), std::cref(cursor.damage())}) {
    for (const std::string& sentence : damage_sentences(damage)) verdict.add(0, sentence);
  }
  if (cursor.unknown_stacks() != 0) {
    verdict.add(0, count_of(cursor.unknown_stacks(), "event") + " with a call stack that is not on the tape");
  }
  for (const ReplayFinding& finding : replay.findings()) verdict.add(finding.event, sentence_for(finding));
  verdict.problem_count += replay.fault_count() - replay.findings().size();
  verdict.finished = tape.summary().has_value();
  // With a part missing the totals cannot agree.
  if (verdict.finished && tape.damage().empty() && cursor.damage().empty()) {
    check_summary(verdict, *tape.summary(), heap.totals());
  }
  verdict.events = replay.events();
  verdict.unknown_releases = replay.unknown_releases();
  return verdict;
}

void print_text(Output& output, const std::string& name, const Verdict& verdict) {
  for (const Problem& problem : verdict.problems) {
    if (problem.event != 0)
      output.print("event {} {}\n", problem.event, problem.sentence);
    else
      output.print("{}\n", problem.sentence);
  }
  if (verdict.problem_count > verdict.problems.size()) {
    output.print("and {} more\n", with_separators(verdict.problem_count - verdict.problems.size()));
  }
  const std::string end = verdict.finished ? "" : "; it has no end, so the recording was cut off or is still running";
  if (verdict.problem_count == 0) {
    output.print("{}: ok, {}{}\n", name, count_of(verdict.events, "event"), end);
  } else {
    output.print("{}: {} in {}{}\n", name, count_of(verdict.problem_count, "problem"),
                 count_of(verdict.events, "event"), end);
  }
}

void print_json(Output& output, const std::string& name, const Verdict& verdict) {
  output.print(
      R"({{"tape": {}, "ok": {}, "finished": {}, "events": {}, "unknown_releases": {}, "problem_count": {}, "problems": [)",
      json_string(name), verdict.problem_count == 0, verdict.finished, verdict.events, verdict.unknown_releases,
      verdict.problem_count);
  const char* separator = "\n  ";
  for (const Problem& problem : verdict.problems) {
    output.print("{}{{", separator);
    if (problem.event != 0) output.print("\"event\": {}, ", problem.event);
    output.print("\"problem\": {}}}", json_string(problem.sentence));
    separator = ",\n  ";
  }
  output.print("{}]}}\n", verdict.problems.empty() ? "" : "\n");
}

} // namespace

int verify(Arguments arguments) {
  std::string name;
  bool json = false;
  CLI::App app("", "verify");
  app.add_flag("--json", json, "one JSON object");
  app.add_option("TAPE", name);
  if (const auto status = parse(app, kHelp, arguments)) return *status;

  const Result<TapeReader> tape = open_chosen_tape(name);
  if (!tape) return fail(tape.error());
  const Verdict verdict = check(tape.value());
  Output output;
  if (json)
    print_json(output, name, verdict);
  else
    print_text(output, name, verdict);
  if (!output.finish()) return kTrouble;
  return verdict.problem_count == 0 ? kOk : kProblemsFound;
}

} // namespace heaptape::cli
