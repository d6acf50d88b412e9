// heaptape diff: what changed between two tapes, or between two moments of one.
#include "base/number_text.h"
#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/options/report_options.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "report/figures/costs.h"
#include "report/figures/heap_diff.h"
#include "report/pages/overview.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape diff [options] BEFORE AFTER\n       heaptape diff [options] TAPE --from MOMENT --to MOMENT",
    .purpose = "Compares two tapes, or two moments of one tape, stack by stack: what grew, shrank, is new or gone. "
               "Stacks are matched by function names, so this works across rebuilds and address randomization.",
    .more =
        R"(Two tapes are compared by what was live at their peaks, unless you choose another figure; two moments always by
what was live. A moment is a time (12.5s), an event number, a mark of the program, or start, peak, end.

Examples:
  heaptape diff old.tape new.tape
  heaptape diff --leaks old.tape new.tape
  heaptape diff app.tape --from 10s --to 60s
)"};

struct Wishes {
  std::string before, after, from, to;
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

struct Compared {
  std::string what; // "at the peak"
  std::string before, after;
  std::vector<StackCost> before_costs, after_costs;
};

const char* kind_text(CostKind kind) {
  switch (kind) {
  case CostKind::Leaks: return "Still live at the end";
  case CostKind::Peak: return "Live at the peak";
  case CostKind::Allocations: return "Allocated";
  case CostKind::Temporary: return "Temporary";
  }
  return "?";
}

Result<Compared> compare_moments(const TapeView& view, const Wishes& wishes) {
  const Result<Moment> from = view.moment(wishes.from.empty() ? "start" : wishes.from);
  const Result<Moment> to = view.moment(wishes.to.empty() ? "end" : wishes.to);
  if (!from) return from.error();
  if (!to) return to.error();
  const auto label = [](const Moment& moment) {
    return printable(moment.label) + ", event " + with_separators(moment.event);
  };
  return Compared{"Live", label(from.value()), label(to.value()), live_costs(view, from.value()),
                  live_costs(view, to.value())};
}

// Beside the rows, so that a change elsewhere is not overlooked.
void print_totals(Output& output, const TapeView& before, const TapeView& after) {
  const HeapTotals &a = before.answers().totals, &b = after.answers().totals;
  const auto line = [&](const char* name, std::uint64_t one, std::uint64_t other) {
    output.print("  {:<10}{:>12}  ->{:>12}  {:>12}\n", name, bytes_text(one), bytes_text(other),
                 signed_bytes_text(static_cast<std::int64_t>(other - one)));
  };
  line("peak", a.peak_bytes, b.peak_bytes);
  line("live", a.live_bytes, b.live_bytes);
  line("allocated", a.allocated_bytes, b.allocated_bytes);
  const auto calls = static_cast<std::int64_t>(b.allocated_blocks - a.allocated_blocks);
  output.print("  {:<10}{:>12}  ->{:>12}  {:>12}\n\n", "calls", with_separators(a.allocated_blocks),
               with_separators(b.allocated_blocks), signed_count_text(calls));
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
  list.number("-n,--rows N", wishes.rows, "show at most N stacks (default: 20)");
  list.flag("--json", wishes.json, "print all changes as one JSON object");
  common.add_filters(list);
  common.add_names_and_color(list);
  list.word("BEFORE", wishes.before);
  list.word("AFTER", wishes.after);
  if (const auto status = parse(list, kHelp, arguments)) return *status;

  const bool moments = !wishes.from.empty() || !wishes.to.empty();
  const Result<CostKind> kind = kind_of(wishes);
  if (!kind) return fail(kind.error());
  if (moments && !wishes.after.empty())
    return fail({ErrorCode::Usage, "--from and --to compare moments of one tape; give only one"});
  if (!moments && wishes.after.empty())
    return fail({ErrorCode::Usage, "diff needs two tapes, or one with --from and --to"});
  const Result<TextStyle> style = common.style();
  if (!style) return fail(style.error());
  Result<FrameFilter> filter = common.filter();
  if (!filter) return fail(filter.error());
  const Result<TapeView> before = common.open(wishes.before);
  if (!before) return fail(before.error());
  const Result<TapeView> other = moments ? Result<TapeView>(Error{ErrorCode::Usage, ""}) : common.open(wishes.after);
  if (!moments && !other) return fail(other.error());
  const TapeView& after = moments ? before.value() : other.value();

  Result<Compared> compared = Error{ErrorCode::Usage, ""};
  if (moments) {
    compared = compare_moments(before.value(), wishes);
    if (!compared) return fail(compared.error());
  } else {
    compared = Compared{kind_text(kind.value()), wishes.before, wishes.after, costs_of(before.value(), kind.value()),
                        costs_of(after, kind.value())};
  }
  Compared& sides = compared.value();
  keep_accepted(before.value().names(), filter.value(), sides.before_costs);
  keep_accepted(after.names(), filter.value(), sides.after_costs);
  const DiffSide one{before.value().names(), sides.before_costs}, two{after.names(), sides.after_costs};
  const Diff changes = make_diff(one, two);

  Output output;
  if (wishes.json) {
    JsonWriter json;
    json.begin_object().field("compared", std::string_view(sides.what));
    json.field("from", std::string_view(sides.before)).field("to", std::string_view(sides.after));
    write_diff_json(json, changes, one, two);
    output.print("{}\n", json.end_object().text());
    return output.finish() ? kOk : kTrouble;
  }
  const auto line = [&](const std::string& text) {
    output.print("{}\n", style.value().width != 0 ? shortened(text, style.value().width) : text);
  };
  line("before  " + printable(sides.before));
  line("after   " + printable(sides.after));
  if (!moments) print_totals(output, before.value(), after);
  line(fmt::format("{}: {} in {} -> {} in {}", sides.what, bytes_text(changes.before.bytes),
                   count_of(changes.before.blocks, "block"), bytes_text(changes.after.bytes),
                   count_of(changes.after.blocks, "block")));
  output.print("{}", diff_text(changes, one, two, {.rows = wishes.rows, .style = style.value()}));
  if (changes.rows.empty()) output.print("  no stack differs\n");
  return output.finish() ? kOk : kTrouble;
}

} // namespace heaptape::cli
