// heaptape index: builds the index of a tape, which reports read instead of the events.
#include "analysis/index/index.h"

#include "cli/commands/commands.h"
#include "cli/options/choose_tape.h"
#include "cli/options/command_line.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "cli/terminal/progress.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{.usage = "heaptape index [--force] [TAPE]",
                            .purpose = "Reads all events once and appends an index to the tape: totals, figures per "
                                       "call stack, the peak, a timeline, and keyframes from which any moment is "
                                       "reached quickly. 'heaptape record' does this at its end, and so does the "
                                       "first report on a tape without an index.",
                            .more = R"(Examples:
  heaptape index big.tape
)"};

} // namespace

int index(Arguments arguments) {
  TapeChoice choice;
  bool force = false;
  OptionList list("index");
  list.word("TAPE", choice.path);
  list.flag("--force", force, "build a new index even if the tape has a good one");
  if (const auto status = parse(list, kHelp, arguments)) return *status;
  {
    const Result<TapeReader> tape = open_chosen_tape(choice);
    if (!tape) return fail(tape.error());
    const TapeDamage damage = damage_of(tape.value());
    say_damage(choice.path, damage, damage.missing_events);
    if (!force && load_index(tape.value()).state == IndexState::Good) {
      say(choice.path + " already has an index; --force builds a new one");
      return kOk;
    }
  }
  ProgressLine progress("indexing");
  MakeIndex how;
  how.progress = [&](std::uint64_t done, std::uint64_t all) { progress.show(done, all); };
  const Result<> made = append_index(choice.path, how);
  return made ? kOk : fail(made.error());
}

} // namespace heaptape::cli
