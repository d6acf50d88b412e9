#include "report/pages/verify_tape.h"

#include <fmt/format.h>

#include "analysis/heap/heap_model.h"
#include "analysis/index/index.h"
#include "analysis/moment/replay_check.h"
#include "base/number_text.h"
#include "report/figures/pools.h"
#include "report/text/damage_text.h"
#include "report/text/json_text.h"

namespace heaptape {
namespace {

constexpr std::size_t kListed = 1000; // problems; the others are counted

void add(Verdict& verdict, std::uint64_t event, std::string sentence) {
  ++verdict.problem_count;
  if (verdict.problems.size() < kListed) verdict.problems.push_back({event, std::move(sentence)});
}

std::string fault_sentence(const ReplayFinding& finding) {
  switch (finding.fault) {
  case ReplayFault::Overlap:
    return fmt::format("makes a block of {} at {:#x}, where the block of event {} is live",
                       count_of(finding.size, "byte"), finding.address, finding.other);
  case ReplayFault::DoubleRelease:
    return fmt::format("releases {:#x}, which event {} already released", finding.address, finding.other);
  case ReplayFault::InteriorRelease:
    return fmt::format("releases {:#x}, which lies inside the block of event {}", finding.address, finding.other);
  }
  return "is impossible";
}

std::string sentence_for(const TapeReader& tape, const ReplayFinding& finding) {
  const std::string sentence = fault_sentence(finding);
  if (finding.pool == 0) return sentence;
  return fmt::format("{} (pool '{}')", sentence, pool_name(tape.pools(), finding.pool));
}

std::set<std::uint64_t> pools_of_functions(const TapeReader& tape) {
  std::set<std::uint64_t> numbers;
  for (const Pool& pool : tape.pools()) {
    if (pool.kind == PoolKind::Function) numbers.insert(pool.number);
  }
  return numbers;
}

void compare(Verdict& verdict, const char* what, std::uint64_t on_tape, std::uint64_t replayed) {
  if (on_tape == replayed) return;
  add(verdict, 0,
      fmt::format("the summary says {} {}, the events say {}", with_separators(on_tape), what,
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

// Reports open the index instead of the events, so it must be whole too.
void check_index(Verdict& verdict, const TapeReader& tape) {
  const FoundIndex found = load_index(tape);
  std::size_t lost = 0;
  for (const Keyframe& keyframe : found.index.keyframes) {
    for (const std::uint64_t part : keyframe.parts) lost += tape.read_index_part(part) ? 0 : 1;
  }
  if (found.state == IndexState::Damaged || lost != 0) {
    add(verdict, 0, "the index is damaged; 'heaptape index --force' builds a new one");
  } else if (found.state == IndexState::Stale) {
    add(verdict, 0, "the index describes other events; 'heaptape index --force' builds a new one");
  }
}

} // namespace

Verdict verify_tape(const TapeReader& tape, const VerifyTape& options) {
  Verdict verdict;
  ReplayCheck replay(pools_of_functions(tape));
  HeapModel heap;
  std::uint64_t last_us = 0;
  EventCursor cursor = tape.events();
  while (const Event* event = cursor.next()) {
    const bool beyond = options.limit != 0 && event->number > options.limit;
    const bool stopped = event->number % (1 << 16) == 0 && options.should_stop && options.should_stop();
    if (beyond || stopped) {
      verdict.partial = true;
      break;
    }
    replay.add(*event);
    heap.apply(*event);
    if (event->time_us < last_us) add(verdict, event->number, "is earlier than the event before it");
    last_us = event->time_us;
  }
  for (const std::vector<Damage>& damage : {std::cref(tape.damage()), std::cref(cursor.damage())}) {
    for (const std::string& sentence : damage_sentences(damage)) add(verdict, 0, sentence);
  }
  if (cursor.unknown_stacks() != 0) {
    add(verdict, 0, count_of(cursor.unknown_stacks(), "event") + " with a call stack that is not on the tape");
  }
  for (const ReplayFinding& finding : replay.findings()) add(verdict, finding.event, sentence_for(tape, finding));
  verdict.problem_count += replay.fault_count() - replay.findings().size();
  verdict.finished = tape.summary().has_value();
  // With a part missing the totals cannot agree.
  if (!verdict.partial && verdict.finished && tape.damage().empty() && cursor.damage().empty()) {
    check_summary(verdict, *tape.summary(), heap.totals());
  }
  check_index(verdict, tape);
  verdict.events = replay.events();
  verdict.unknown_releases = replay.unknown_releases();
  return verdict;
}

std::string verdict_text(const std::string& name, const Verdict& verdict) {
  std::string out;
  for (const Problem& problem : verdict.problems) {
    if (problem.event != 0)
      out += fmt::format("event {} {}\n", problem.event, problem.sentence);
    else
      out += fmt::format("{}\n", problem.sentence);
  }
  if (verdict.problem_count > verdict.problems.size()) {
    out += fmt::format("and {} more\n", with_separators(verdict.problem_count - verdict.problems.size()));
  }
  const std::string end = verdict.partial    ? "; the events after them were not checked"
                          : verdict.finished ? ""
                                             : "; it has no end, so the recording was cut off or is still running";
  if (verdict.problem_count == 0) {
    out += fmt::format("{}: ok, {}{}\n", printable(name), count_of(verdict.events, "event"), end);
  } else {
    out += fmt::format("{}: {} in {}{}\n", printable(name), count_of(verdict.problem_count, "problem"),
                       count_of(verdict.events, "event"), end);
  }
  return out;
}

std::string verdict_json(const std::string& name, const Verdict& verdict) {
  std::string out;
  out += fmt::format(
      R"({{"tape": {}, "ok": {}, "finished": {}, "events": {}, "unknown_releases": {}, "problem_count": {}, "problems": [)",
      json_string(name), verdict.problem_count == 0, verdict.finished, verdict.events, verdict.unknown_releases,
      verdict.problem_count);
  const char* separator = "\n  ";
  for (const Problem& problem : verdict.problems) {
    out += fmt::format("{}{{", separator);
    if (problem.event != 0) out += fmt::format("\"event\": {}, ", problem.event);
    out += fmt::format("\"problem\": {}}}", json_string(problem.sentence));
    separator = ",\n  ";
  }
  out += fmt::format("{}]}}\n", verdict.problems.empty() ? "" : "\n");
  return out;
}

} // namespace heaptape
