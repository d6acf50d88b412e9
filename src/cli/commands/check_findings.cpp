#include "cli/commands/check_findings.h"

#include <unistd.h>

#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "base/characters.h"
#include "cli/beside/tape_in_use.h"
#include "cli/options/choose_tape.h"
#include "cli/options/report_options.h"
#include "cli/terminal/console.h"
#include "report/errors/error_list.h"
#include "report/errors/error_text.h"
#include "report/errors/failures.h"
#include "report/leaks/leak_report.h"
#include "report/leaks/leak_text.h"
#include "report/pages/run.h"
#include "report/view/tape_view.h"

namespace heaptape::cli {
namespace {

constexpr std::size_t kMostContexts = 50; // in full; 'heaptape errors' shows all
constexpr std::size_t kDepth = 16;
constexpr std::size_t kLeakRows = 10;

void print(const std::string& text) { std::fputs(text.c_str(), stderr); }

// Definitely or indirectly lost. False also when nothing is known.
bool tell_leaks(const TapeView& view, Suppressions& suppressions, StackText& stacks, const TextStyle& style) {
  const std::optional<std::size_t> snapshot = snapshot_at_end(view.tape());
  if (!snapshot) {
    say(how_to_get_leaks(view));
    return false;
  }
  const Result<LeakReport> report =
      make_leak_report(view, *snapshot, {}, {.suppressions = &suppressions, .filter = nullptr, .where = nullptr});
  if (!report) {
    say(report.error().sentence);
    return false;
  }
  print(leak_text(report.value(), stacks, style, kLeakRows));
  return report.value().of(LeakClass::Definitely).blocks != 0;
}

} // namespace

bool tell_findings(const std::string& tape, const FindingsWanted& wanted) {
  ReportOptions common;
  common.set_suppression_files(wanted.suppression_files);
  Result<Suppressions> suppressions = common.given_suppressions();
  TapeChoice choice;
  choice.path = tape;
  const Result<TapeView> view = common.open(choice);
  if (!view || !suppressions) {
    say(view ? suppressions.error().sentence : view.error().sentence);
    return false;
  }
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
  const Result<TextStyle> chosen = common.style();
  TextStyle style = chosen ? chosen.value() : TextStyle{};
  if (!is_terminal) style.color = false;
  const ErrorList list = find_errors(view.value(), {.suppressions = &suppressions.value()});
  const std::size_t contexts = list.contexts.size();
  StackText stacks(view.value().names());
  for (std::size_t i = 0; i < contexts && i < kMostContexts; ++i) {
    print(error_text(view.value(), stacks, list.contexts[i], {.style = style, .depth = kDepth, .tape_words = tape}) +
          "\n");
  }
  if (contexts > kMostContexts) say(fmt::format("{} more contexts are on the tape", contexts - kMostContexts));
  const bool leaks = wanted.leaks && tell_leaks(view.value(), suppressions.value(), stacks, style);
  if (list.mode == "fail" && !wanted.quiet) {
    constexpr std::size_t kFailures = 10;
    say(failures_text(stacks, find_failures(view.value()), kFailures));
    say(ending_text(view.value().tape().summary()));
  }
  if (wanted.quiet && contexts == 0 && !leaks) return false;
  say(error_summary(list) + (leaks ? ", and blocks are definitely lost" : "") +
      (contexts != 0 ? fmt::format("; 'heaptape errors {}' shows them again", printable(tape)) : ""));
  return contexts != 0 || leaks;
}

bool tell_findings_of_run(const std::string& folder, const FindingsWanted& wanted) {
  const Result<Run> run = read_run_now(folder);
  if (!run) {
    say(run.error().sentence);
    return false;
  }
  bool found = false;
  for (const RunProcess& process : run.value().programs) {
    if (process.tape.empty()) continue;
    say(fmt::format("{} ({}):", printable(process.name), process.pid));
    found = tell_findings(process.tape, wanted) || found;
  }
  return found;
}

} // namespace heaptape::cli
