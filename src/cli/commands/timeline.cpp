// heaptape timeline: the heap over time as a picture.
#include "cli/commands/commands.h"
#include "cli/options/choose_tape.h"
#include "cli/options/command_line.h"
#include "cli/options/report_options.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "cli/terminal/terminal.h"
#include "report/pages/timeline_numbers.h"
#include "report/pages/timeline_text.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape timeline [options] [TAPE]",
    .purpose =
        "Draws the live heap over the time of the run, with the program's resident memory as a line, the peak and the "
        "program's marks.",
    .more =
        R"(Each column shows the highest value in its stretch of time, so no peak is lost. --csv and --json give numbers at
the finest resolution of the tape's index.

Examples:
  heaptape timeline app.tape
  heaptape timeline --csv app.tape > heap.csv
)"};

} // namespace

int timeline(Arguments arguments) {
  TapeChoice tape;
  bool json = false, csv = false;
  std::size_t height = 16;
  ReportOptions common;
  OptionList list("timeline");
  list.number("--height N", height, "rows of the picture (default: 16)").between(2, 200);
  list.flag("--csv", csv, "print a line of numbers per stretch of time");
  list.flag("--json", json, "print a JSON object with an array per figure");
  common.add_names_and_color(list);
  tape.add(list);
  if (const auto status = parse(list, kHelp, arguments)) return *status;

  const Result<TextStyle> style = common.style();
  if (!style) return fail(style.error());
  const Result<TapeView> view = common.open(tape);
  if (!view) return fail(view.error());
  Output output;
  if (csv)
    output.print("{}", timeline_csv(view.value()));
  else if (json)
    output.print("{}", with_damage(timeline_json(view.value()), view.value().damage()));
  else
    output.print("{}", timeline_text(view.value().findings(), view.value().marks(),
                                     {.width = picture_width(style.value()), .height = height}, style.value()));
  return output.finish() ? kOk : kTrouble;
}

} // namespace heaptape::cli
