#include "report/pages/verify_tape.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "analysis/heap/heap_model.h"
#include "analysis/index/index.h"
#include "analysis/moment/odd_findings.h"
#include "analysis/moment/replay_check.h"
#include "base/number_text.h"
#include "report/figures/pools.h"
#include "report/names/stack_text.h"
#include "report/names/symbolize_tape.h"
#include "report/pages/memory_errors.h"
#include "report/pages/odd_calls.h"
#include "report/text/damage_text.h"
#include "report/text/json_text.h"

namespace heaptape {
namespace {

constexpr std::size_t kListed = 1000; // problems; the others are counted
constexpr std::size_t kFailedListed = 10;

void add(Verdict& verdict, std::uint64_t event, std::string sentence) {
  ++verdict.problem_count;
  if (verdict.problems.size() < kListed) verdict.problems.push_back({event, std::move(sentence)});
}

void add(Verdict& verdict, Problem problem) {
  ++verdict.problem_count;
  ++verdict.by_sort[problem.sort];
  if (verdict.problems.size() < kListed) verdict.problems.push_back(std::move(problem));
}

const char* sort_name(ReplayFault fault) {
  switch (fault) {
  case ReplayFault::Overlap: return "overlap";
  case ReplayFault::DoubleRelease: return odd_sort_name(OddSort::ReleasedTwice);
  case ReplayFault::InteriorRelease: return odd_sort_name(OddSort::InsideBlock);
  }
  return "odd";
}

// In the plural; for one, without the s.
std::string sort_words(const std::string& sort, std::uint64_t count) {
  const auto words = [&](const char* one, const char* many) {
    return with_separators(count) + " " + (count == 1 ? one : many);
  };
  if (sort == "overlap") return words("overlapping block", "overlapping blocks");
  if (sort == "double-free") return words("double free", "double frees");
  if (sort == "free-inside-block") return words("free inside a block", "frees inside a block");
  if (sort == "free-of-stack") return words("free of stack memory", "frees of stack memory");
  if (sort == "free-of-static") return words("free of static memory", "frees of static memory");
  if (sort == "mismatch") return words("mismatched pair", "mismatched pairs");
  if (sort == "wrong-size") return words("release with a wrong size", "releases with a wrong size");
  return words("odd call", "odd calls");
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

// What the program's memory held is read by whoever asks for it; here somebody asks for all.
void check_pages(Verdict& verdict, const TapeReader& tape, const std::function<bool()>& should_stop) {
  std::vector<Damage> damage;
  for (const PagesChunk& chunk : tape.pages_chunks()) {
    if (should_stop && should_stop()) {
      verdict.partial = true;
      break;
    }
    if (!tape.read_pages(chunk))
      damage.push_back({chunk.offset, chunk.bytes, count_of(chunk.count, "page") + " of snapshots cannot be read"});
  }
  for (const std::string& sentence : damage_sentences(damage)) add(verdict, 0, sentence);
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

// What the recording noticed itself. Double releases and the like come out of the events, as on tapes of all versions.
void add_odd_calls(Verdict& verdict, const TapeReader& tape, StackNames& names, std::uint64_t last_event,
                   const VerifyTape& options) {
  if (tape.odd_calls().calls.empty()) return;
  std::vector<OddFinding> findings = odd_findings(tape, 1000, options.should_stop);
  for (const OddFinding& finding : without_other_runtimes(tape, names, std::move(findings))) {
    const OddCall& call = finding.call;
    if (call.event > last_event) break;
    Problem problem{.event = call.event,
                    .sentence = odd_sentence(finding),
                    .sort = odd_sort_name(finding.sort),
                    .is_event = is_event(call.kind),
                    .stack = call.stack};
    if (finding.sort == OddSort::Failed) {
      ++verdict.failed_count;
      if (verdict.failed.size() < kFailedListed) verdict.failed.push_back(std::move(problem));
      continue;
    }
    const bool in_events = call.kind == OddKind::NotLive &&
                           (finding.sort == OddSort::ReleasedTwice || finding.sort == OddSort::InsideBlock);
    // A realloc that never returned was of no block, known or not.
    if (!in_events && (is_fault(finding.sort) || call.kind == OddKind::Unfinished)) add(verdict, std::move(problem));
  }
}

std::vector<StackId> stacks_in(const TapeReader& tape, const Verdict& verdict) {
  std::vector<StackId> stacks;
  for (const Problem& problem : verdict.problems) stacks.push_back(problem.stack);
  for (const OddCall& call : tape.odd_calls().calls) {
    stacks.push_back(call.stack);
    if (stacks.size() > 4 * kListed) break;
  }
  std::erase(stacks, StackId{});
  return stacks;
}

} // namespace

Verdict verify_tape(const TapeReader& tape, const VerifyTape& options) {
  Verdict verdict;
  ReplayCheck replay(pools_of_functions(tape));
  replay.inherit(tape.inherited_blocks());
  HeapModel heap;
  std::uint64_t last_us = 0;
  std::vector<StackId> stacks; // of the findings
  EventCursor cursor = tape.events();
  while (const Event* event = cursor.next()) {
    const bool beyond = options.limit != 0 && event->number > options.limit;
    const bool stopped = event->number % (1 << 16) == 0 && options.should_stop && options.should_stop();
    if (beyond || stopped) {
      verdict.partial = true;
      break;
    }
    replay.add(*event);
    stacks.resize(replay.findings().size(), event->stack);
    heap.apply(*event);
    if (event->time_us < last_us) add(verdict, event->number, "is earlier than the event before it");
    last_us = event->time_us;
  }
  for (const std::vector<Damage>& damage : {std::cref(tape.damage()), std::cref(cursor.damage())}) {
    for (const std::string& sentence : damage_sentences(damage)) add(verdict, 0, sentence);
  }
  check_pages(verdict, tape, options.should_stop);
  if (cursor.unknown_stacks() != 0) {
    add(verdict, 0, count_of(cursor.unknown_stacks(), "event") + " with a call stack that is not on the tape");
  }
  const std::size_t about_tape = verdict.problems.size();
  for (std::size_t i = 0; i < replay.findings().size(); ++i) {
    const ReplayFinding& finding = replay.findings()[i];
    add(verdict, {.event = finding.event,
                  .sentence = sentence_for(tape, finding),
                  .sort = sort_name(finding.fault),
                  .stack = stacks[i]});
  }
  verdict.problem_count += replay.fault_count() - replay.findings().size();
  for (const ReplayFault fault : {ReplayFault::Overlap, ReplayFault::DoubleRelease, ReplayFault::InteriorRelease}) {
    if (replay.count(fault) != 0) verdict.by_sort[sort_name(fault)] = replay.count(fault);
  }
  const std::vector<StackId> named = stacks_in(tape, verdict);
  Symbols found;
  if (tape.symbols().empty() && !named.empty()) found = symbolize_stacks(tape, named, {});
  StackNames names(tape.modules(), tape.stacks(), tape.symbols().empty() ? found : tape.symbols(), NameForm::Short);
  add_odd_calls(verdict, tape, names, verdict.partial ? heap.totals().events : ~std::uint64_t{0}, options);
  std::stable_sort(verdict.problems.begin() + static_cast<std::ptrdiff_t>(about_tape), verdict.problems.end(),
                   [](const Problem& a, const Problem& b) { return a.event < b.event; });
  StackText text(names);
  for (auto* list : {&verdict.problems, &verdict.failed}) {
    for (Problem& problem : *list) {
      if (problem.stack != StackId{}) problem.site = text.chain(problem.stack);
    }
  }
  const std::vector<MemoryError>& errors = tape.memory_errors().errors;
  verdict.memory_errors = verdict.partial
                              ? static_cast<std::uint64_t>(std::count_if(
                                    errors.begin(), errors.end(),
                                    [&](const MemoryError& error) { return error.event <= heap.totals().events; }))
                              : error_count(tape.memory_errors());
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

namespace {

std::string problem_text(const Problem& problem) {
  if (problem.event == 0 && problem.sort.empty()) return problem.sentence + "\n";
  std::string text =
      fmt::format("{} {} {}\n", problem.is_event ? "event" : "after event", problem.event, problem.sentence);
  if (!problem.site.empty()) text += fmt::format("    in {}", problem.site);
  if (!problem.sort.empty() && problem.is_event)
    text += fmt::format("{}; 'heaptape event {}' shows all of it", problem.site.empty() ? "    no stack" : "",
                        problem.event);
  if (!problem.site.empty() || (!problem.sort.empty() && problem.is_event)) text += "\n";
  return text;
}

} // namespace

std::string verdict_text(const std::string& name, const Verdict& verdict) {
  std::string out;
  for (const Problem& problem : verdict.problems) out += problem_text(problem);
  if (verdict.problem_count > verdict.problems.size()) {
    out += fmt::format("and {} more\n", with_separators(verdict.problem_count - verdict.problems.size()));
  }
  const std::string end = verdict.partial    ? "; the events after them were not checked"
                          : verdict.finished ? ""
                                             : "; it has no end, so the recording was cut off or is still running";
  for (const Problem& failed : verdict.failed) out += problem_text(failed);
  if (verdict.failed_count > verdict.failed.size()) {
    out += fmt::format("and {} more; 'heaptape sql' has them all in odd_calls\n",
                       count_of(verdict.failed_count - verdict.failed.size(), "failed allocation"));
  }
  const std::string errors = verdict.memory_errors == 0 ? "" : count_of(verdict.memory_errors, "memory error");
  if (!errors.empty()) out += fmt::format("{}; 'heaptape errors {}' lists them\n", errors, printable(name));
  std::string sorts;
  for (const auto& [sort, count] : verdict.by_sort) {
    sorts += (sorts.empty() ? " (" : ", ") + sort_words(sort, count);
  }
  if (!sorts.empty()) sorts += ")";
  std::string failed;
  if (verdict.failed_count != 0) {
    failed = verdict.failed_count == 1 ? "; 1 allocation failed"
                                       : "; " + with_separators(verdict.failed_count) + " allocations failed";
  }
  if (verdict.is_ok()) {
    out += fmt::format("{}: ok, {}{}{}\n", printable(name), count_of(verdict.events, "event"), failed, end);
  } else {
    std::string found = verdict.problem_count == 0 ? "" : count_of(verdict.problem_count, "problem");
    if (!errors.empty()) found += (found.empty() ? "" : " and ") + errors;
    out += fmt::format("{}: {} in {}{}{}{}\n", printable(name), found, count_of(verdict.events, "event"), sorts, failed,
                       end);
  }
  return out;
}

std::string verdict_json(const std::string& name, const Verdict& verdict) {
  std::string out;
  out += fmt::format(
      R"({{"tape": {}, "ok": {}, "finished": {}, "events": {}, "unknown_releases": {}, "problem_count": {}, "memory_errors": {}, "problems": [)",
      json_string(name), verdict.is_ok(), verdict.finished, verdict.events, verdict.unknown_releases,
      verdict.problem_count, verdict.memory_errors);
  const auto list = [&](const std::vector<Problem>& problems) {
    const char* separator = "\n  ";
    for (const Problem& problem : problems) {
      out += fmt::format("{}{{", separator);
      if (problem.event != 0) out += fmt::format("\"event\": {}, ", problem.event);
      if (!problem.sort.empty()) {
        out += fmt::format("\"sort\": {}, \"is_event\": {}, ", json_string(problem.sort), problem.is_event);
      }
      if (!problem.site.empty()) out += fmt::format("\"site\": {}, ", json_string(problem.site));
      out += fmt::format("\"problem\": {}}}", json_string(problem.sentence));
      separator = ",\n  ";
    }
    out += problems.empty() ? "]" : "\n]";
  };
  list(verdict.problems);
  out += fmt::format(", \"failed_count\": {}, \"failed\": [", verdict.failed_count);
  list(verdict.failed);
  out += "}\n";
  return out;
}

} // namespace heaptape
