// Commands that sum up: who has what is live at the cursor, what changed.
#include "shell/costs.h"

#include <fmt/format.h>

#include "analysis/moment/moments.h"
#include "base/number_text.h"
#include "report/figures/costs.h"
#include "report/figures/heap_diff.h"
#include "report/figures/tree_text.h"
#include "report/figures/worst.h"
#include "report/figures/worst_text.h"
#include "shell/all_commands.h"
#include "shell/describe.h"

namespace heaptape {
namespace {

std::vector<StackCost> costs_of_state(const HeapState& state) {
  std::vector<StackCost> costs;
  for (const OwnerCost& row : live_by_owner(state)) costs.push_back({row.owner.stack, row.owner.thread, row.cost});
  return costs;
}

void print_tree(Session& session, Printer& out, const std::string& title, const std::vector<StackCost>& costs,
                bool json) {
  const Cost total = sum_of(costs);
  const TreeOptions options{.measure = total.bytes == 0 ? Measure::Blocks : Measure::Bytes, .fold_plumbing = true};
  const TreeNode tree = make_call_tree(session.names(), costs, options);
  if (json) {
    JsonWriter writer;
    write_tree_json(writer, session.names(), session.tape().threads(), tree);
    out.print(writer.text() + "\n");
    return;
  }
  out.print(session.style.bold(title) + ": " + exact_bytes_text(total.bytes) + " in " +
            count_of(total.blocks, "block") + "\n");
  out.print(tree_text(session.names(), session.tape().threads(), tree, {.tree = options, .style = session.style}));
}

Result<> live(Session& session, Call& call, Printer& out) {
  const bool json = call.flag("--json");
  if (const Result<> done = call.finish(); !done) return done.error();
  print_tree(session, out, "Live", costs_of_state(session.heap().state()), json);
  return Unit{};
}

Result<> top(Session& session, Call& call, Printer& out) {
  const bool json = call.flag("--json"), blocks = call.flag("--blocks");
  const Result<std::uint64_t> rows = call.count("-n", 15);
  if (!rows) return rows.error();
  if (const Result<> done = call.finish(); !done) return done.error();
  const std::vector<StackCost> costs = costs_of_state(session.heap().state());
  const Measure measure = blocks ? Measure::Blocks : Measure::Bytes;
  const Worst worst = worst_functions(session.names(), costs, {.rows = rows.value(), .measure = measure});
  if (json) {
    JsonWriter writer;
    write_worst_json(writer, session.names(), worst);
    out.print(writer.text() + "\n");
  } else {
    out.print(worst.rows.empty() ? "nothing is live here\n"
                                 : worst_text(session.names(), worst, measure, session.style));
  }
  return Unit{};
}

Result<> diff(Session& session, Call& call, Printer& out) {
  const bool json = call.flag("--json");
  const Result<std::uint64_t> rows = call.count("-n", 20);
  if (!rows) return rows.error();
  const auto from = call.next(), to = call.next();
  if (const Result<> done = call.finish(); !done) return done.error();
  if (!from) return Error{ErrorCode::Usage, "diff needs one position (to be compared with the cursor) or two"};
  const Result<Moment> before = session.position(*from), after = session.position(to.value_or("@"));
  if (!before) return before.error();
  if (!after) return after.error();
  const std::vector<StackCost> then = live_costs(session.view(), before.value()),
                               now = live_costs(session.view(), after.value());
  const DiffSide one{session.names(), then}, other{session.names(), now};
  const Diff changed = make_diff(one, other);
  if (json) {
    JsonWriter writer;
    writer.begin_object();
    write_diff_json(writer, changed, one, other);
    out.print(writer.end_object().text() + "\n");
    return Unit{};
  }
  out.print(fmt::format("from {}\nto   {}\n", moment_text(before.value().event, before.value().time_us),
                        moment_text(after.value().event, after.value().time_us)));
  out.print(diff_text(changed, one, other, {.rows = rows.value(), .style = session.style}));
  return Unit{};
}

constexpr CommandOption kTopOptions[] = {
    {"-n N", "show N functions (default: 15)"},
    {"--blocks", "count blocks instead of bytes"},
    {"--json", "as JSON"},
};

constexpr CommandOption kDiffOptions[] = {
    {"-n N", "show N stacks (default: 20)"},
    {"--json", "as JSON"},
};

} // namespace

void print_never_freed(Session& session, Printer& out, bool json) {
  HeapCursor end(session.tape(), session.view().index());
  end.seek_event(session.last_event());
  std::vector<StackCost> costs;
  for (const Owner& owner : end.state().owners().owners()) costs.push_back({owner.stack, owner.thread, {}});
  end.state().blocks().for_each([&](const Block& block) {
    if (block.event <= session.event()) costs[block.owner].cost += Cost::of(block.size);
  });
  std::erase_if(costs, [](const StackCost& row) { return row.cost == Cost{}; });
  const bool at_end = session.event() == session.last_event();
  print_tree(session, out, at_end ? "Still live at the end" : "Live here and never freed", costs, json);
}

const Command kLiveCommand{.name = "live",
                           .arguments = "",
                           .summary = "what is live at the cursor, as a tree of callers",
                           .help = "",
                           .example = "live",
                           .group = CommandGroup::Memory,
                           .run = live,
                           .options = kJsonOption};
const Command kTopCommand{.name = "top",
                          .arguments = "",
                          .summary = "the functions with most live at the cursor",
                          .help = "",
                          .example = "top -n 5",
                          .group = CommandGroup::Memory,
                          .run = top,
                          .options = kTopOptions};
const Command kDiffCommand{.name = "diff",
                           .arguments = "POSITION [POSITION2]",
                           .summary = "what changed between two moments",
                           .help = "With one position: from there to the cursor.\n",
                           .example = "diff ^ peak",
                           .group = CommandGroup::Memory,
                           .takes = Takes::Position,
                           .run = diff,
                           .options = kDiffOptions};

} // namespace heaptape
