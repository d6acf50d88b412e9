// heaptape --complete: what the completions of the shells cannot know themselves.
#include <string_view>

#include "base/number_text.h"
#include "base/path_text.h"
#include "cli/commands/commands.h"
#include "cli/options/choose_tape.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "collector/control/control_client.h"
#include "report/text/mark_text.h"
#include "report/text/snapshot_names.h"
#include "tape/reader.h"

namespace heaptape::cli {
namespace {

void print_programs(Output& output) {
  const Result<std::vector<LiveRecording>> all = live_recordings();
  if (!all) return;
  for (const LiveRecording& one : all.value()) output.print("{}\t{}\n", one.pid, printable(base_name(one.program)));
}

// Of the tape on the command line, or of the newest here.
void print_moments(Output& output, Arguments words) {
  std::string path;
  for (const char* word : words) {
    if (is_tape(word)) path = word;
  }
  if (path.empty()) {
    const Result<std::string> newest = newest_tape(".");
    if (newest) path = newest.value();
  }
  output.print("start\tbefore the first event\npeak\twhen most was live\nend\tafter the last event\n");
  if (path.empty()) return;
  const Result<TapeReader> tape = TapeReader::open(path);
  if (!tape) return;
  for (const Mark& mark : moments_of(numbered(tape.value().marks())))
    if (!mark.name.empty()) output.print("{}\tat {} s\n", printable(mark.name), seconds_text(mark.time_us));
  for (const NamedSnapshot& each : named_snapshots(tape.value(), tape.value().marks())) {
    if (each.number != 0)
      output.print("snapshot:{}\t{}at {} s\n", each.number, each.name.empty() ? "" : printable(each.name) + " ",
                   seconds_text(each.time_us));
  }
}

} // namespace

int complete(Arguments arguments) {
  const std::string_view what = arguments.empty() ? "" : arguments.front();
  Output output(Paging::Never);
  if (what == "pids") print_programs(output);
  if (what == "moments") print_moments(output, arguments.subspan(1));
  return output.finish() ? kOk : kTrouble;
}

} // namespace heaptape::cli
