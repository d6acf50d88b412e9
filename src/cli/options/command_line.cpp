#include "cli/options/command_line.h"

#include "cli/options/choose_tape.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "cli/terminal/pager.h"

namespace heaptape::cli {
namespace {

bool g_no_pager = false; // one command, one process

} // namespace

std::optional<int> ended_by(const Result<OptionList::Outcome>& outcome, const OptionList& list,
                            const CommandHelp& help) {
  if (!outcome) {
    const std::string& sentence = outcome.error().sentence;
    const bool is_enough = sentence.ends_with('?') || sentence.find(" must be ") != sentence.npos;
    say(is_enough ? sentence : sentence + "; 'heaptape " + list.command() + " --help' lists the options");
    return kTrouble;
  }
  if (g_no_pager) never_page();
  if (outcome.value() == OptionList::Outcome::GoOn) return std::nullopt;
  Output output;
  output.print("{}", outcome.value() == OptionList::Outcome::WantsTable ? options_table(list) : help_text(list, help));
  return output.finish() ? kOk : kTrouble;
}

void add_no_pager(OptionList& list) {
  list.flag("--no-pager", g_no_pager, "show long answers without a pager").hidden();
}

std::optional<int> parse(OptionList& list, const CommandHelp& help, Arguments arguments) {
  add_no_pager(list);
  return ended_by(list.parse(tape_before_options(list, {arguments.begin(), arguments.end()})), list, help);
}

} // namespace heaptape::cli
