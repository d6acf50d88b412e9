// heaptape budget: whether a run stayed within limits, as an exit status for continuous integration.
#include <algorithm>

#include "base/number_text.h"
#include "cli/commands/commands.h"
#include "cli/options/by_pid.h"
#include "cli/options/choose_tape.h"
#include "cli/options/command_line.h"
#include "cli/options/report_options.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "report/pages/budget.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape budget [options] [TAPE]",
    .purpose = "Checks a run against limits and reports on each. Exits with 0 when all hold, with 1 when one does "
               "not, so a build can fail on it, and with 2 when it cannot tell, because a part of the tape is missing.",
    .more =
        R"(SIZE is in bytes: 4096, 12kB, 200M, 1.5GiB. With --no-growth the heap must not be larger at any later moment
than at the first; a moment is a mark of the program, a time (12.5s), an event number, or start, peak, end.

Examples:
  heaptape budget --max-peak 200M --max-leaked 0 --suppressions my.supp a.tape
  heaptape budget --no-growth warm-up done app.tape
)"};

// The command line; sizes are not yet read.
struct Wishes {
  TapeChoice tape;
  std::string max_peak, max_leaked, max_lost, max_allocated;
  BudgetLimits limits;
  bool json = false;

  bool empty() const {
    return max_peak.empty() && max_leaked.empty() && max_lost.empty() && max_allocated.empty() &&
           !limits.max_lost_blocks && !limits.max_leaked_blocks && !limits.max_allocations && !limits.max_temporary &&
           limits.no_growth.empty();
  }
};

Result<> read_sizes(Wishes& wishes) {
  BudgetLimits& limits = wishes.limits;
  for (const auto& [text, limit] :
       {std::pair{&wishes.max_peak, &limits.max_peak}, std::pair{&wishes.max_leaked, &limits.max_leaked},
        std::pair{&wishes.max_lost, &limits.max_lost}, std::pair{&wishes.max_allocated, &limits.max_allocated}}) {
    if (text->empty()) continue;
    const Result<std::uint64_t> bytes = parse_bytes(*text);
    if (!bytes) return bytes.error();
    *limit = bytes.value();
  }
  return Unit{};
}

} // namespace

int budget(Arguments arguments) {
  Wishes wishes;
  BudgetLimits& limits = wishes.limits;
  ReportOptions common;
  OptionList list("budget");
  list.text("--max-peak SIZE", wishes.max_peak, "most bytes live at once");
  list.text("--max-leaked SIZE", wishes.max_leaked, "most bytes still live at the end");
  list.number("--max-leaked-blocks N", limits.max_leaked_blocks, "most blocks still live at the end");
  list.text("--max-lost SIZE", wishes.max_lost, "most bytes definitely or indirectly lost at the end (record --leaks)");
  list.number("--max-lost-blocks N", limits.max_lost_blocks, "most blocks definitely or indirectly lost at the end");
  list.text("--max-allocated SIZE", wishes.max_allocated, "most bytes ever allocated");
  list.number("--max-allocations N", limits.max_allocations, "most blocks ever allocated");
  list.number("--max-temporary N", limits.max_temporary, "most temporary blocks");
  list.series("--no-growth MOMENT MOMENT...", limits.no_growth, 1,
              "the heap must not be larger at any later moment than at the first");
  list.flag("--json", wishes.json, "print a JSON array with a verdict per limit");
  common.add_filters(list);
  common.add_suppressions(list);
  common.add_names_and_color(list);
  wishes.tape.add(list);
  if (const auto status = parse(list, kHelp, arguments)) return *status;

  if (limits.no_growth.size() == 1) return fail({ErrorCode::Usage, "--no-growth needs at least two moments"});
  if (wishes.empty()) return fail({ErrorCode::Usage, "no limit given; see 'heaptape budget --help'"});
  const Result<TextStyle> style = common.style();
  if (!style) return fail(style.error());
  Result<FrameFilter> filter = common.filter();
  if (!filter) return fail(filter.error());
  const Result<TapeView> view = common.open(wishes.tape);
  if (!view) return fail(view.error());
  Result<Suppressions> suppressions = common.suppressions(view.value().tape());
  if (!suppressions) return fail(suppressions.error());
  if (const Result<> read = read_sizes(wishes); !read) return fail(read.error());

  const auto verdicts = check_budget(view.value(), limits, filter.value(), suppressions.value());
  if (!verdicts) return fail(verdicts.error());
  Output output;
  if (!wishes.json) output.fold_lines();
  output.print("{}", wishes.json ? budget_json(view.value(), verdicts.value())
                                 : budget_text(view.value(), verdicts.value(), style.value()));
  if (!output.finish()) return kTrouble;
  const bool all_hold = std::all_of(verdicts.value().begin(), verdicts.value().end(),
                                    [](const BudgetVerdict& verdict) { return verdict.holds(); });
  if (!all_hold) return kProblemsFound;
  if (!view.value().tape().summary() && !recording_of(view.value().path())) {
    say("no verdict: the limits hold as far as the tape goes, but the recording was cut off");
    return kTrouble;
  }
  return kOk;
}

} // namespace heaptape::cli
