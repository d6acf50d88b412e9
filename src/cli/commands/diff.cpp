// heaptape diff: what changed between two tapes, or between two moments.
#include <optional>

#include "base/number_text.h"
#include "base/output_file.h"
#include "cli/commands/commands.h"
#include "cli/options/choose_tape.h"
#include "cli/options/command_line.h"
#include "cli/options/report_options.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "report/changes/changes_text.h"
#include "report/changes/snapshot_changes.h"
#include "report/figures/costs.h"
#include "report/pages/comparison.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape diff [options] BEFORE AFTER\n       heaptape diff [options] TAPE@SNAPSHOT TAPE@SNAPSHOT\n"
             "       heaptape diff [options] TAPE MOMENT MOMENT",
    .purpose = "Compares two tapes, or two moments of one tape, stack by stack: what grew, shrank, is new or gone. "
               "Stacks are matched by function names, so this works across rebuilds and address randomization.",
    .more =
        R"(Two tapes are compared by what was live at their peaks, unless you choose another figure; two moments always by
what was live. A moment is a time (12.5s), an event number, a mark of the program, snapshot:2, or start, peak, end.
TAPE@2, TAPE@NAME and TAPE@last are a tape at a snapshot ('heaptape snapshots' lists them); @2 after one is the same tape.

With --by, moments are compared block by block: what is new, what is gone and, where the later snapshot has the program's
memory, what began to hold the new blocks: a variable or the blocks that were there before, and on what way. Tapes
without a moment are meant at their ends.

Examples:
  heaptape diff old.tape new.tape
  heaptape diff --leaks old.tape new.tape
  heaptape diff app.tape --from 10s --to 60s
  heaptape diff -p server 'before the test' end
  heaptape diff --by type app.tape@1 app.tape@2
  heaptape diff --by function app.tape@warm @last
)"};

struct Wishes {
  TwoTapes tapes;
  std::string from, to, by;
  bool leaks = false, peak = false, allocations = false, temporary = false, json = false;
  std::size_t rows = 20;
};

bool any_kind(const Wishes& wishes) { return wishes.leaks || wishes.peak || wishes.allocations || wishes.temporary; }

Result<CostKind> kind_of(const Wishes& wishes) {
  if (wishes.leaks + wishes.peak + wishes.allocations + wishes.temporary > 1) {
    return Error{ErrorCode::Usage, "give only one of --leaks, --peak, --allocations and --temporary"};
  }
  return wishes.leaks         ? CostKind::Leaks
         : wishes.allocations ? CostKind::Allocations
         : wishes.temporary   ? CostKind::Temporary
                              : CostKind::Peak;
}

struct Moments {
  bool given = false;
  std::string from, to;
};

// What is compared, after both tapes were chosen. An error says what contradicts.
Result<Moments> moments_in(const Wishes& wishes, bool one_tape) {
  const TapeChoice &first = wishes.tapes.before, &second = wishes.tapes.after;
  Moments moments{!wishes.from.empty() || !wishes.to.empty(), wishes.from, wishes.to};
  if (moments.given && !first.snapshot.empty()) {
    if (!moments.from.empty())
      return Error{ErrorCode::Usage,
                   "give the earlier moment either as '@" + printable(first.snapshot) + "' or by --from"};
    moments.from = "snapshot:" + first.snapshot;
  } else if (moments.given) {
    if (moments.from.empty()) moments.from = "start";
  }
  if (moments.given) {
    if (moments.to.empty()) moments.to = "end";
    return moments;
  }
  const bool snapshots = !first.snapshot.empty() || !second.snapshot.empty();
  if (one_tape && !snapshots && !wishes.by.empty())
    return Error{ErrorCode::Usage, "both are the same tape; give two moments of it, such as TAPE@1 TAPE@2"};
  if (!snapshots && wishes.by.empty()) return moments;
  const auto moment = [](const TapeChoice& tape) {
    return tape.snapshot.empty() ? std::string("end") : "snapshot:" + tape.snapshot;
  };
  return Moments{true, moment(first), moment(second)};
}

ChangesBy changes_by(const std::string& word) {
  return word == "type" ? ChangesBy::Type : word == "function" ? ChangesBy::Function : ChangesBy::Stack;
}

// Block by block.
int print_changes(const Wishes& wishes, const TapeView& before, const Moment& from, const TapeView& after,
                  const Moment& to, FrameFilter& filter, const TextStyle& style) {
  constexpr std::size_t kHolders = 3, kHoldersInJson = 10, kRowsInJson = 1000;
  const Result<SnapshotChanges> changes = make_snapshot_changes(before, from, after, to,
                                                                {.by = changes_by(wishes.by),
                                                                 .filter = filter,
                                                                 .rows = wishes.json ? kRowsInJson : wishes.rows,
                                                                 .holders = wishes.json ? kHoldersInJson : kHolders});
  if (!changes) return fail(changes.error());
  Output output;
  const TapeDamage& damage = before.damage().empty() ? after.damage() : before.damage();
  output.print("{}", wishes.json ? with_damage(changes_json(changes.value()), damage)
                                 : changes_text(changes.value(), {.rows = wishes.rows, .style = style}));
  return output.finish() ? kOk : kTrouble;
}

// "@2" behind a tape is that tape's.
void complete_tape(const TapeChoice& first, TapeChoice& second) {
  if (!second.path.starts_with('@') || first.path.empty() || may_be_tape(second.path)) return;
  const auto parts = split_snapshot(first.path);
  second.path = (parts ? parts->first : first.path) + second.path;
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
  list.text("--by WHAT", wishes.by, "compare moments block by block: by type, function or stack")
      .one_of({"type", "function", "stack"});
  list.number("-n,--rows N", wishes.rows, "show at most N stacks, types or functions (default: 20)")
      .between(1, 1'000'000);
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
  complete_tape(first, second);

  const bool is_second = second.is_named(), by_options = !wishes.from.empty() || !wishes.to.empty();
  if (by_options && is_second)
    return fail({ErrorCode::Usage, "--from and --to compare moments of one tape; give only one"});
  if (!by_options && !is_second) return fail({ErrorCode::Usage, "diff needs two tapes, or one tape and two moments"});
  const Result<CostKind> kind = kind_of(wishes);
  if (!kind) return fail(kind.error());
  const Result<TextStyle> style = common.style();
  if (!style) return fail(style.error());
  Result<FrameFilter> filter = common.filter();
  if (!filter) return fail(filter.error());
  const Result<TapeView> before = common.open(first);
  if (!before) return fail(before.error());
  if (is_second) {
    second.like = first.program; // of two runs, the same program
    if (const Result<> chosen = choose_tape(second); !chosen) return fail(chosen.error());
  }
  const bool one_tape = !is_second || same_file(first.path, second.path);
  const Result<Moments> moments = moments_in(wishes, one_tape);
  if (!moments) return fail(moments.error());
  if (moments.value().given && any_kind(wishes))
    return fail({ErrorCode::Usage, "moments are compared by what was live; leave out --leaks, --peak, --allocations "
                                   "and --temporary"});
  const bool shares_view = one_tape && moments.value().given;
  const Result<TapeView> other = shares_view ? Result<TapeView>(Error{ErrorCode::Usage, ""}) : common.open(second);
  if (!shares_view && !other) return fail(other.error());
  const TapeView& after = shares_view ? before.value() : other.value();

  std::optional<Comparison> compared;
  if (moments.value().given) {
    const Result<Moment> from = before.value().moment(moments.value().from), to = after.moment(moments.value().to);
    if (!from) return fail(from.error());
    if (!to) return fail(to.error());
    if (!wishes.by.empty())
      return print_changes(wishes, before.value(), from.value(), after, to.value(), filter.value(), style.value());
    compared.emplace(compare_moments(before.value(), from.value(), after, to.value(), filter.value()));
  } else {
    compared.emplace(compare_tapes(before.value(), after, kind.value(), filter.value()));
  }
  Output output;
  // Of the earlier one; the other's is reported on standard error.
  const TapeDamage& damage = before.value().damage().empty() ? after.damage() : before.value().damage();
  output.print("{}", wishes.json ? with_damage(comparison_json(*compared), damage)
                                 : comparison_text(*compared, {.rows = wishes.rows, .style = style.value()}));
  return output.finish() ? kOk : kTrouble;
}

} // namespace heaptape::cli
