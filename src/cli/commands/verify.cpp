// heaptape verify: is a tape intact, and could its events have happened?
#include "cli/commands/commands.h"
#include "cli/options/choose_tape.h"
#include "cli/options/command_line.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "report/pages/verify_tape.h"
#include "tape/reader.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape verify [options] [TAPE]",
    .purpose =
        "Checks that every chunk of a tape has the right checksum and that its events could have happened: no block "
        "is made where one is live, nothing is released twice, and the totals on the tape are those of its events.",
    .more = R"(Prints one line and exits with 0 when all is well. Otherwise lists the problems, by event
where they belong to one, and exits with 1; with 2 when the file is not a tape.

Examples:
  heaptape verify app.tape
  heaptape verify --json app.tape | jq .problems
)"};

} // namespace

int verify(Arguments arguments) {
  TapeChoice choice;
  bool json = false;
  VerifyTape options;
  OptionList list("verify");
  list.number("--limit N", options.limit, "check only the first N events").between(1, 1'000'000'000'000);
  list.flag("--json", json, "one JSON object");
  choice.add(list);
  if (const auto status = parse(list, kHelp, arguments)) return *status;

  const Result<TapeReader> tape = open_chosen_tape(choice);
  if (!tape) return fail(tape.error());
  const Verdict verdict = verify_tape(tape.value(), options);
  Output output;
  if (!json) output.fold_lines();
  output.print("{}", json ? verdict_json(choice.path, verdict) : verdict_text(choice.path, verdict));
  if (!output.finish()) return kTrouble;
  return verdict.is_ok() ? kOk : kProblemsFound;
}

} // namespace heaptape::cli
