// heaptape info: what a tape holds.
#include "base/number_text.h"
#include "cli/beside/tape_in_use.h"
#include "cli/commands/commands.h"
#include "cli/options/choose_tape.h"
#include "cli/options/command_line.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "cli/terminal/terminal.h"
#include "report/pages/info_json.h"
#include "report/pages/info_text.h"
#include "report/pages/run.h"
#include "report/pages/run_text.h"
#include "tape/reader.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape info [options] [TAPE]",
    .purpose =
        "Shows what a tape holds: the program and how it ended, counts and totals, what was lost, threads, modules "
        "with build-ids, and what takes up the space. Of a run (a folder of 'record --follow'), its processes as a "
        "tree.",
    .more = R"(Examples:
  heaptape info app.tape
  heaptape info --json app.tape | jq .peak_bytes
  heaptape info heaptape.make.4711.run
)"};

int show_run(const std::string& folder, bool json) {
  const Result<Run> run = read_run_now(folder);
  if (!run) return fail(run.error());
  const Result<TextStyle> style = style_of_output("auto");
  if (!style) return fail(style.error());
  Output output;
  if (json) {
    output.print("{}", run_json(run.value()));
  } else {
    output.fold_lines();
    const RunProcess& main = run.value().programs[run.value().main];
    output.print("{}: {}\n{}", printable(folder), processes_text(run.value()),
                 run_tree_text(run.value(), 0, style.value()));
    output.print("'heaptape report {}' opens {} ({}); --process PID or NAME opens another\n", printable(folder),
                 printable(main.name), main.pid);
  }
  return output.finish() ? kOk : kTrouble;
}

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

  // Of a run, the processes; of one of them, what its tape holds.
  if (choice.process.empty() && !choice.pid) {
    if (choice.path.empty()) {
      const Result<std::string> newest = newest_tape(".");
      if (newest && is_run(newest.value())) {
        choice.path = newest.value();
        say(choice.path + " (the newest run here)");
      }
    }
    if (is_run(choice.path)) return show_run(choice.path, json);
  }
  const Result<TapeReader> tape = open_chosen_tape(choice);
  if (!tape) return fail(tape.error());
  TapeFacts facts = gather_facts(tape.value());
  facts.abandoned = !facts.finished && is_abandoned(choice.path);
  say_damage(choice.path, facts.damage, facts.uncounted_events());
  Output output;
  if (!json) output.fold_lines();
  output.print("{}", json ? info_json(choice.path, tape.value(), facts)
                          : info_text(choice.path, tape.value(), facts, {.list_all = all}));
  return output.finish() ? kOk : kTrouble;
}

} // namespace heaptape::cli
