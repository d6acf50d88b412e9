#include "cli/options/command_line.h"

#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"

namespace heaptape::cli {

std::optional<int> ended_by(const Result<OptionList::Outcome>& outcome, const OptionList& list,
                            const CommandHelp& help) {
  if (!outcome) {
    const std::string& sentence = outcome.error().sentence;
    const bool is_enough = sentence.ends_with('?') || sentence.find(" must be ") != sentence.npos;
    say(is_enough ? sentence : sentence + "; 'heaptape " + list.command() + " --help' lists the options");
    return kTrouble;
  }
  if (outcome.value() == OptionList::Outcome::GoOn) return std::nullopt;
  Output output;
  output.print("{}", outcome.value() == OptionList::Outcome::WantsTable ? options_table(list) : help_text(list, help));
  return output.finish() ? kOk : kTrouble;
}

std::optional<int> parse(OptionList& list, const CommandHelp& help, Arguments arguments) {
  return ended_by(list.parse({arguments.begin(), arguments.end()}), list, help);
}

} // namespace heaptape::cli
