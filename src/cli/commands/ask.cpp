// heaptape explain, history, owner, events, ...: one command of the shell, without a shell.
#include "cli/commands/commands.h"
#include "cli/options/choose_tape.h"
#include "cli/options/tape_session.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "report/text/damage_text.h"
#include "shell/command.h"

namespace heaptape::cli {
namespace {

class OutputPrinter final : public Printer {
public:
  bool print(std::string_view text) override {
    output_.buffer().append(text);
    output_.write_if_full();
    return !output_.failed();
  }
  bool finish() { return output_.finish(); }

private:
  Output output_;
};

std::string help_of(const Command& command) {
  std::string text = "usage: heaptape " + std::string(command.name) + " [options] [TAPE | -p PID]" +
                     (command.arguments.empty() ? "" : " ") + std::string(command.arguments) + "\n\n";
  text += std::string(1, static_cast<char>(std::toupper(command.summary[0]))) + std::string(command.summary.substr(1)) +
          ".\n\n";
  text += std::string(command.help);
  text += "\n-p PID          ask about a program being recorded ('heaptape ps'), up to now\n"
          "--at POSITION   the moment to ask about (default: end): a time (12.5s),\n"
          "                an event number, peak, start, end, a mark, peak-1\n"
          "--limit N       act as if the tape ended with event N\n"
          "--names FORM    short (default), full or mangled\n"
          "--color WHEN    auto (default), always or never\n"
          "\nIn 'heaptape shell': " +
          std::string(command.example) + "\n";
  return text;
}

} // namespace

int ask(std::string_view name, Arguments arguments) {
  const Result<const Command*> command = find_command(name);
  if (!command) return fail(command.error());
  Words words(std::vector<std::string>(arguments.begin(), arguments.end()));
  OutputPrinter out;
  if (words.flag("--help") || words.flag("-h")) {
    out.print(help_of(*command.value()));
    return out.finish() ? kOk : kTrouble;
  }
  Result<SessionWishes> wishes = take_session_options(words);
  if (!wishes) return fail(wishes.error());
  wishes.value().tape = words.take_first(command.value()->with_values, may_be_tape).value_or("");
  Result<Session> session = open_session(wishes.value());
  if (!session) return fail(session.error());
  const Result<> done = command.value()->run(session.value(), words, out);
  const bool written = out.finish();
  for (const std::string& sentence : damage_sentences(session.value().take_damage()))
    say(wishes.value().tape + " is damaged: " + sentence);
  if (!done) return fail(done.error());
  return written ? kOk : kTrouble;
}

} // namespace heaptape::cli
