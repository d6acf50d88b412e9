// heaptape errors: what was wrong with the program's use of memory.
#include "report/errors/error_list.h"

#include "cli/commands/commands.h"
#include "cli/options/choose_tape.h"
#include "cli/options/command_line.h"
#include "cli/options/report_options.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "report/errors/error_json.h"
#include "report/errors/error_text.h"
#include "report/errors/junit.h"
#include "report/errors/make_suppressions.h"
#include "report/errors/sarif.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape errors [options] [TAPE]",
    .purpose = "Lists the memory errors of a program: releases that were wrong, and, of a program that ran with "
               "'heaptape check', writes outside of blocks and into released ones.",
    .more =
        R"(Errors that the same call found in blocks of the same origin are listed once, with their number. Of a write that
was found later, the call that found it is not to blame: the error says between which events it was made.

Exits with 1 where there are errors (see --error-exitcode), with 0 where there are none, with 2 when the tape or a
file of suppressions cannot be read.

Examples:
  heaptape errors app.tape
  heaptape errors --gen-suppressions app.tape > known.supp
  heaptape errors --suppressions known.supp app.tape
  heaptape errors --format sarif app.tape > errors.sarif
)"};

struct Wishes {
  TapeChoice tape;
  std::string format = "text";
  std::size_t depth = 0, rows = 100;
  std::size_t error_status = kProblemsFound;
  bool json = false, make_suppressions = false;
};

std::string answer(const TapeView& view, const ErrorList& list, const Wishes& wishes, const TextStyle& style) {
  if (wishes.make_suppressions) return suppressions_for(view, list);
  if (wishes.format == "sarif") return error_sarif(view, list, HEAPTAPE_VERSION);
  if (wishes.format == "junit") return error_junit(view, list);
  if (wishes.format == "text")
    return error_list_text(view, list, {.style = style, .depth = wishes.depth, .rows = wishes.rows});
  JsonWriter json;
  write_error_list(json, view, list);
  return with_damage(json.text(), view.damage()) + "\n";
}

} // namespace

int errors(Arguments arguments) {
  Wishes wishes;
  ReportOptions common;
  OptionList list("errors");
  list.text("--format FORMAT", wishes.format, "text (default), json, sarif (2.1.0) or junit")
      .one_of({"text", "json", "sarif", "junit"});
  list.flag("--json", wishes.json, "the same as --format json");
  list.number("--depth N", wishes.depth, "show at most N frames of each stack").between(1, 100'000);
  list.number("-n,--rows N", wishes.rows, "show at most N errors as text (default: 100)").between(1, 1'000'000'000);
  list.number("--error-exitcode N", wishes.error_status, "exit with N when there are errors (default: 1)")
      .between(0, 255);
  common.add_error_suppressions(list);
  list.flag("--gen-suppressions", wishes.make_suppressions,
            "print entries for --suppressions that leave out what would be listed, in valgrind's syntax");
  common.add_names_and_color(list);
  wishes.tape.add(list);
  if (const auto status = parse(list, kHelp, arguments)) return *status;

  if (wishes.json && list.given("--format") && wishes.format != "json")
    return fail({ErrorCode::Usage, "give either --json or --format " + wishes.format});
  if (wishes.json) wishes.format = "json";
  const Result<TextStyle> style = common.style();
  if (!style) return fail(style.error());
  const Result<TapeView> view = common.open(wishes.tape);
  if (!view) return fail(view.error());
  Result<Suppressions> suppressions = common.given_suppressions();
  if (!suppressions) return fail(suppressions.error());
  const ErrorList found = find_errors(view.value(), {.suppressions = &suppressions.value()});
  Output output;
  if (wishes.format == "text" && !wishes.make_suppressions) output.fold_lines();
  output.print("{}", answer(view.value(), found, wishes, style.value()));
  if (!output.finish()) return kTrouble;
  return found.contexts.empty() ? kOk : static_cast<int>(wishes.error_status);
}

} // namespace heaptape::cli
