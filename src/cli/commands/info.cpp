// heaptape info: what a tape holds.
#include "cli/commands/commands.h"
#include "cli/options/choose_tape.h"
#include "cli/options/command_line.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "report/pages/info_json.h"
#include "report/pages/info_text.h"
#include "tape/reader.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape info [options] [TAPE]",
    .purpose =
        "Shows what a tape holds: the program and how it ended, counts and totals, what was lost, threads, modules "
        "with build-ids, and what takes up the space.",
    .more = R"(Examples:
  heaptape info app.tape
  heaptape info --json app.tape | jq .peak_bytes
)"};

} // namespace

int info(Arguments arguments) {
  TapeChoice choice;
  bool json = false;
  bool all = false;
  OptionList list("info");
  list.flag("--all", all, "list all threads and modules, however many");
  list.flag("--json", json, "print everything as one JSON object");
  choice.add(list);
  if (const auto status = parse(list, kHelp, arguments)) return *status;

  const Result<TapeReader> tape = open_chosen_tape(choice);
  if (!tape) return fail(tape.error());
  const TapeFacts facts = gather_facts(tape.value());
  say_damage(choice.path, facts.damage, facts.uncounted_events());
  Output output;
  output.print("{}", json ? info_json(choice.path, tape.value(), facts)
                          : info_text(choice.path, tape.value(), facts, {.list_all = all}));
  return output.finish() ? kOk : kTrouble;
}

} // namespace heaptape::cli
