// heaptape explain, history, owner, events, ...: one command of the shell, without a shell.
#include <cctype>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/options/choose_tape.h"
#include "cli/options/command_line.h"
#include "cli/options/tape_session.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "report/text/damage_text.h"
#include "shell/command.h"

namespace heaptape::cli {
namespace {

class OutputPrinter final : public Printer {
public:
  // An answer in JSON says itself what is wrong with the tape.
  explicit OutputPrinter(const TapeDamage* damage) : damage_(damage) {
    if (damage == nullptr) output_.fold_lines();
  }

  bool print(std::string_view text) override {
    if (const TapeDamage* damage = std::exchange(damage_, nullptr))
      output_.print("{}", with_damage(std::string(text), *damage));
    else
      output_.buffer().append(text);
    output_.write_if_full();
    return !output_.failed();
  }
  bool finish() { return output_.finish(); }

private:
  Output output_;
  const TapeDamage* damage_; // null: not JSON, or it has begun
};

// The parts of what --help prints; they refer to each other.
struct AskHelp {
  explicit AskHelp(const Command& command)
      : usage(fmt::format("heaptape {} [options] [TAPE | -p PID]{}{}", command.name,
                          command.arguments.empty() ? "" : " ", command.arguments)),
        purpose(std::string(command.summary) + "."), more(command.help) {
    purpose[0] = static_cast<char>(std::toupper(purpose[0]));
    more += fmt::format("{}In 'heaptape shell': {}\n", more.empty() ? "" : "\n", command.example);
  }
  CommandHelp text() const { return {usage, purpose, more}; }

  std::string usage, purpose, more;
};

} // namespace

int ask(std::string_view name, Arguments arguments) {
  const Result<const Command*> command = find_command(name);
  if (!command) return fail(command.error());
  Call call(command.value()->name, command.value()->options);
  SessionWishes wishes;
  add_session_options(call.options(), wishes);
  const Result<OptionList::Outcome> parsed = call.parse(as_words({arguments.begin(), arguments.end()}));
  if (const auto status = ended_by(parsed, call.options(), AskHelp(*command.value()).text())) return *status;
  if (!wishes.tape.is_named()) wishes.tape.path = call.next_if(may_be_tape).value_or("");
  Result<Session> session = open_session(wishes);
  if (!session) return fail(session.error());
  const bool json = call.options().given("--json");
  OutputPrinter out(json ? &session.value().view().damage() : nullptr);
  const Result<> done = command.value()->run(session.value(), call, out);
  const bool written = out.finish();
  for (const std::string& sentence : damage_sentences(session.value().take_damage()))
    say(wishes.tape.path + " is damaged: " + sentence);
  if (!done) return fail(done.error());
  if (!written) return kTrouble;
  return call.has_problems() ? kProblemsFound : kOk;
}

} // namespace heaptape::cli
