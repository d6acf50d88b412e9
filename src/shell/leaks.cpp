// What is lost at the last snapshot of memory up to the cursor; without one, what is never freed.
#include "report/leaks/leak_report.h"

#include "report/leaks/leak_text.h"
#include "shell/all_commands.h"
#include "shell/costs.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kUsualRows = 20;
constexpr CommandOption kOptions[] = {
    {"-n N", "at most N causes of each class (default: 20)"},
    {"--strict", "count as memcheck does without its heuristics"},
    {"--no-stacks", "what only registers and stacks lead to is lost"},
    {"--show-reachable", "list what holds the blocks that can still be reached"},
    {"--never-freed", "what is live at the cursor and never freed, whatever leads to it"},
    {"--json", "as JSON"},
};

Result<> leaks(Session& session, Call& call, Printer& out) {
  const bool json = call.flag("--json"), never_freed = call.flag("--never-freed");
  const LeakWishes wishes{
      .strict = call.flag("--strict"), .stacks = !call.flag("--no-stacks"), .holders = call.flag("--show-reachable")};
  const Result<std::uint64_t> rows = call.count("-n", kUsualRows);
  if (!rows) return rows.error();
  if (const Result<> done = call.finish(); !done) return done.error();
  const bool asks_for_classes = !wishes.plain() || wishes.holders;
  if (never_freed && asks_for_classes)
    return Error{ErrorCode::Usage, "--never-freed has no classes; give it without other options"};
  const Result<SnapshotMemory*> memory = session.memory();
  if (!memory && asks_for_classes) return memory.error();
  if (!memory || never_freed) {
    print_never_freed(session, out, json);
    if (!json && !never_freed && session.tape().snapshots().empty())
      out.print("\n" + session.style.dim(how_to_get_leaks(session.view())) + "\n");
    return Unit{};
  }
  const Result<SnapshotHeap*> heap = session.memory_graph();
  if (!heap) return heap.error();
  const LeakReport report =
      make_leak_report(session.view(), *heap.value(), session.memory_heap(), session.symbols(), wishes, {});
  if (json) {
    JsonWriter writer;
    write_leak_json(writer, report, session.stacks());
    out.print(writer.text() + "\n");
  } else {
    out.print(leak_text(report, session.stacks(), session.style, rows.value()));
  }
  return Unit{};
}

} // namespace

const Command kLeaksCommand{
    .name = "leaks",
    .arguments = "",
    .summary = "what the program could not get at any more; or what is never freed",
    .help = "At the last snapshot of memory: definitely lost (nothing leads\n"
            "to it), indirectly lost (only lost blocks lead to it), possibly lost (only\n"
            "pointers into the middle of blocks do), still reachable; and a line for each\n"
            "cause. Blocks that lead to each other in a circle are one cause. Without such\n"
            "a snapshot: what is live at the cursor and still live at the end.\n",
    .example = "leaks",
    .group = CommandGroup::Memory,
    .run = leaks,
    .alias = "lost",
    .options = kOptions,
};

} // namespace heaptape
