// heaptape diff: what changed between two tapes, or between two moments of one.
#include "cli/commands/commands.h"
#include "cli/options/choose_tape.h"
#include "cli/options/command_line.h"
#include "cli/options/report_options.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "report/figures/costs.h"
#include "report/pages/comparison.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape diff [options] BEFORE AFTER\n       heaptape diff [options] TAPE MOMENT MOMENT",
    .purpose = "Compares two tapes, or two moments of one tape, stack by stack: what grew, shrank, is new or gone. "
               "Stacks are matched by function names, so this works across rebuilds and address randomization.",
    .more =
        R"(Two tapes are compared by what was live at their peaks, unless you choose another figure; two moments always by
what was live. A moment is a time (12.5s), an event number, a mark of the program, or start, peak, end.

Examples:
  heaptape diff old.tape new.tape
  heaptape diff --leaks old.tape new.tape
  heaptape diff app.tape --from 10s --to 60s
  heaptape diff -p server 'before the test' end
)"};

struct Wishes {
  TwoTapes tapes;
  std::string from, to;
  bool leaks = false, peak = false, allocations = false, temporary = false, json = false;
  std::size_t rows = 20;
};

Result<CostKind> kind_of(const Wishes& wishes) {
  if (wishes.leaks + wishes.peak + wishes.allocations + wishes.temporary > 1) {
    return Error{ErrorCode::Usage, "give only one of --leaks, --peak, --allocations and --temporary"};
  }
  return wishes.leaks         ? CostKind::Leaks
         : wishes.allocations ? CostKind::Allocations
         : wishes.temporary   ? CostKind::Temporary
                              : CostKind::Peak;
}

} // namespace

int diff(Arguments arguments) {
  Wishes wishes;
  ReportOptions common;
  OptionList list("diff");
  list.flag("--peak", wishes.peak, "compare what was live at the peaks (default for two tapes)");
  list.flag("--leaks", wishes.leaks, "compare what was still live at the ends");
  list.flag("--allocations", wishes.allocations, "compare everything ever allocated");
  list.flag("--temporary", wishes.temporary, "compare temporary blocks");
  list.text("--from MOMENT", wishes.from, "the earlier of two moments of one tape");
  list.text("--to MOMENT", wishes.to, "the later one");
  list.number("-n,--rows N", wishes.rows, "show at most N stacks (default: 20)").between(1, 1'000'000);
  list.flag("--json", wishes.json, "print all changes as one JSON object");
  common.add_filters(list);
  common.add_names_and_color(list);
  wishes.tapes.add(list);
  if (const auto status = parse(list, kHelp, arguments)) return *status;
  if (const Result<> good = wishes.tapes.settle(); !good) return fail(good.error());
  if (!wishes.tapes.from.empty()) {
    if (!wishes.from.empty() || !wishes.to.empty())
      return fail({ErrorCode::Usage, "give the two moments either as words or by --from and --to"});
    wishes.from = wishes.tapes.from;
    wishes.to = wishes.tapes.to;
  }
  TapeChoice &first = wishes.tapes.before, &second = wishes.tapes.after;

  const bool moments = !wishes.from.empty() || !wishes.to.empty();
  const Result<CostKind> kind = kind_of(wishes);
  if (!kind) return fail(kind.error());
  if (moments && second.is_named())
    return fail({ErrorCode::Usage, "--from and --to compare moments of one tape; give only one"});
  if (!moments && !second.is_named())
    return fail({ErrorCode::Usage, "diff needs two tapes, or one tape and two moments"});
  const Result<TextStyle> style = common.style();
  if (!style) return fail(style.error());
  Result<FrameFilter> filter = common.filter();
  if (!filter) return fail(filter.error());
  const Result<TapeView> before = common.open(first);
  if (!before) return fail(before.error());
  second.like = first.program; // of two runs, the same program
  const Result<TapeView> other = moments ? Result<TapeView>(Error{ErrorCode::Usage, ""}) : common.open(second);
  if (!moments && !other) return fail(other.error());
  const TapeView& after = moments ? before.value() : other.value();

  const Result<Comparison> compared = moments ? compare_moments(before.value(), wishes.from, wishes.to, filter.value())
                                              : compare_tapes(before.value(), after, kind.value(), filter.value());
  if (!compared) return fail(compared.error());
  Output output;
  // Of the earlier one; the other's is reported on standard error.
  const TapeDamage& damage = before.value().damage().empty() ? after.damage() : before.value().damage();
  output.print("{}", wishes.json ? with_damage(comparison_json(compared.value()), damage)
                                 : comparison_text(compared.value(), {.rows = wishes.rows, .style = style.value()}));
  return output.finish() ? kOk : kTrouble;
}

} // namespace heaptape::cli
