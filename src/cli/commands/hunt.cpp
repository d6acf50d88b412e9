// heaptape hunt: runs a program again and stops it where it does what an error was found by later.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands/commands.h"
#include "cli/options/choose_tape.h"
#include "cli/options/command_line.h"
#include "cli/options/report_options.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "report/errors/error_list.h"
#include "report/errors/hunt_plan.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape hunt [options] [TAPE] [-- PROGRAM [ARGS...]]",
    .purpose =
        "Runs a program again to catch a write in the act that 'heaptape check' has found too late: blocks like the "
        "damaged one are guarded, so that the write ends the program at its very instruction. Without PROGRAM, "
        "the command that the tape was made of runs again.",
    .more = R"(TAPE is one of 'heaptape check'; --error says which of its errors is meant, as 'heaptape errors' numbers
them. All blocks of the damaged one's size are guarded, the others are checked. A block that ends where its page does
may begin at an address that is not a multiple of 16.

Examples:
  heaptape hunt app.tape
  heaptape hunt app.tape --error 3 -- ./app --port 8080

Exits with the program's own status: 139 when the write was caught (SIGSEGV); with 2 when there is nothing to hunt.
)"};

// The words of the command that the tape was made of.
std::vector<std::string> command_of(const TapeReader& tape) {
  std::vector<std::string> words;
  const auto found = tape.meta().find("command");
  if (found == tape.meta().end()) return words;
  for (std::size_t at = 0; at < found->second.size();) {
    const std::size_t end = std::min(found->second.find('\0', at), found->second.size());
    words.push_back(found->second.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

// The command line lives as long as the process.
Arguments kept(std::vector<std::string> words) {
  static std::vector<std::string> texts;
  static std::vector<const char*> pointers;
  texts = std::move(words);
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

} // namespace

int hunt(Arguments arguments) {
  const auto dashes = std::ranges::find_if(arguments, [](const char* word) { return std::strcmp(word, "--") == 0; });
  const auto ours = static_cast<std::size_t>(dashes - arguments.begin());
  TapeChoice choice;
  ReportOptions common;
  std::size_t number = 1;
  std::string output;
  bool force = false;
  OptionList list("hunt");
  list.number("--error N", number, "the error to hunt, as 'heaptape errors' numbers it (default: 1)")
      .between(1, 1'000'000);
  list.text("-o,--output FILE", output, "name of the new tape (default: heaptape.PROGRAM.PID.tape)");
  list.flag("--force", force, "overwrite the tape if it exists");
  choice.add(list);
  if (const auto status = parse(list, kHelp, arguments.first(ours))) return *status;

  std::vector<std::string> program;
  for (const char* word : arguments.subspan(std::min(ours + 1, arguments.size()))) program.emplace_back(word);
  std::string side, sizes, alignment;
  {
    const Result<TapeView> view = common.open(choice);
    if (!view) return fail(view.error());
    const ErrorList errors = find_errors(view.value());
    if (number > errors.contexts.size()) {
      say(errors.contexts.empty()
              ? "the tape has no memory errors"
              : fmt::format("there are {} errors on the tape, not {}", errors.contexts.size(), number));
      return kTrouble;
    }
    const Result<HuntPlan> plan = plan_hunt(errors.contexts[number - 1]);
    if (!plan) return fail(plan.error());
    if (program.empty()) program = command_of(view.value().tape());
    if (program.empty()) {
      say("the tape does not say which command it was made of; give one: heaptape hunt TAPE -- PROGRAM");
      return kTrouble;
    }
    side = plan.value().at_left ? "left" : "right";
    sizes = fmt::format("{0}-{0}", plan.value().size);
    alignment = std::to_string(plan.value().alignment);
    say("hunting " + plan.value().sentence);
  }
  std::vector<std::string> words{"--mode",       "guard", "--guard-side",  side,
                                 "--guard-size", sizes,   "--guard-align", alignment};
  if (!output.empty()) words.insert(words.end(), {"-o", output});
  if (force) words.emplace_back("--force");
  words.emplace_back("--");
  words.insert(words.end(), program.begin(), program.end());
  return check(kept(std::move(words)));
}

} // namespace heaptape::cli
