// The program's own pools at the cursor: all of them as a table, or the stacks behind one.
#include "report/figures/pools.h"

#include "base/number_text.h"
#include "report/figures/costs.h"
#include "report/figures/tree_text.h"
#include "shell/all_commands.h"
#include "shell/pool_blocks.h"

namespace heaptape {
namespace {

Result<> print_table(Session& session, Printer& out, const PoolState& state, bool json) {
  const std::vector<PoolLine> lines = pool_lines(session.tape().pools(), state);
  if (json) {
    JsonWriter writer;
    writer.begin_object().field("event", session.event()).key("pools");
    write_pools_json(writer, lines);
    out.print(writer.end_object().text() + "\n");
    return Unit{};
  }
  if (lines.empty()) {
    out.print("no pools up to here; programs name theirs with heaptape_alloc(), and\n"
              "'heaptape record --alloc-fn NAME' makes one of a library's function\n");
    return Unit{};
  }
  out.print(pool_table(lines, session.style));
  for (const std::string& remark : pool_remarks(lines, state)) out.print(remark + "\n");
  return Unit{};
}

Result<> print_tree(Session& session, Printer& out, const PoolState& state, const PoolLine& line, PoolPart part,
                    bool json) {
  const std::vector<StackCost> costs = pool_costs(state, line.figures.pool, part);
  const Cost total = sum_of(costs);
  const TreeOptions options{.measure = total.bytes == 0 ? Measure::Blocks : Measure::Bytes};
  const TreeNode tree = make_call_tree(session.names(), costs, options);
  if (json) {
    JsonWriter writer;
    writer.begin_object().field("event", session.event()).field("pool", std::string_view(line.name));
    writer.key("tree");
    write_tree_json(writer, session.names(), session.tape().threads(), tree);
    out.print(writer.end_object().text() + "\n");
    return Unit{};
  }
  out.print(session.style.bold((part == PoolPart::Live ? "Live in " : "Allocated in ") + line.name) + ": " +
            exact_bytes_text(total.bytes) + " in " + count_of(total.blocks, "block") + "\n");
  out.print(tree_text(session.names(), session.tape().threads(), tree, {.tree = options, .style = session.style}));
  return Unit{};
}

Result<> pools(Session& session, Call& call, Printer& out) {
  const bool json = call.flag("--json"), allocated = call.flag("--allocated");
  const auto wanted = call.next();
  if (const Result<> done = call.finish(); !done) return done.error();
  if (allocated && !wanted) return Error{ErrorCode::Usage, "--allocated needs the name of a pool"};
  const PoolState state = pools_here(session);
  if (!wanted) return print_table(session, out, state, json);
  std::string names;
  for (const PoolLine& line : pool_lines(session.tape().pools(), state)) {
    if (line.name == *wanted)
      return print_tree(session, out, state, line, allocated ? PoolPart::Allocated : PoolPart::Live, json);
    names += (names.empty() ? "" : ", ") + line.name;
  }
  return Error{ErrorCode::NotFound, "there is no pool '" + printable(*wanted) + "' up to here" +
                                        (names.empty() ? "" : "; there are " + names)};
}

constexpr CommandOption kOptions[] = {
    {"--allocated", "everything ever allocated in the pool instead"},
    {"--json", "as JSON"},
};

} // namespace

const Command kPoolsCommand{.name = "pools",
                            .arguments = "[NAME]",
                            .summary = "the program's own pools, or what is live in one",
                            .help = "Pools hold what the program reported with heaptape_alloc(), and what functions\n"
                                    "named by 'record --alloc-fn' returned. Their blocks are not part of the heap.\n"
                                    "Without NAME: a table of all pools. With NAME: the call stacks behind what is\n"
                                    "live in that pool.\n",
                            .example = "pools",
                            .group = CommandGroup::Memory,
                            .run = pools,
                            .options = kOptions};

} // namespace heaptape
