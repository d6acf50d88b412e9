// heaptape explain, history, owner, events, ...: one command of the shell, without a shell.
#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <utility>

#include "cli/beside/under_tool.h"
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

// The example of the shell with a tape in it; empty: it has signs that a shell of the system reads otherwise.
std::string on_command_line(const Command& command) {
  const std::string_view example = command.example;
  if (!example.starts_with(command.name) || example.find_first_of("\"'~<>|&;()*$^`") != example.npos) return {};
  return fmt::format("heaptape {} {}{}", command.name,
                     command.group == CommandGroup::Memory ? "app.tape@2" : "app.tape",
                     example.substr(command.name.size()));
}

// The parts of what --help prints; they refer to each other.
struct AskHelp {
  explicit AskHelp(const Command& command)
      : usage(fmt::format("heaptape {} [options] [TAPE | -p PID]{}{}", command.name,
                          command.arguments.empty() ? "" : " ", command.arguments)),
        purpose(std::string(command.summary) + "."), more(command.help) {
    purpose[0] = static_cast<char>(std::toupper(purpose[0]));
    if (!more.empty()) more += "\n";
    if (const std::string example = on_command_line(command); !example.empty())
      more += "Example:\n  " + example + "\n\n";
    more += fmt::format("In 'heaptape shell': {}\n", command.example);
  }
  CommandHelp text() const { return {usage, purpose, more}; }

  std::string usage, purpose, more;
};

// Quoted only where it must be.
std::string as_word(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("@%+=:,./_-").find(static_cast<char>(c)) != std::string_view::npos;
  });
  return plain ? text : shell_quoted(text);
}

// As the next command is to name them, after the tape was chosen.
std::string tape_words(const SessionWishes& wishes, const std::optional<std::string>& process) {
  std::string words = process                        ? "-p " + as_word(*process)
                      : wishes.tape.snapshot.empty() ? as_word(wishes.tape.path)
                                                     : as_word(wishes.tape.path + "@" + wishes.tape.snapshot);
  return wishes.at.empty() ? words : words + " --at " + as_word(wishes.at);
}

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
  const std::optional<std::string> process = wishes.tape.pid;
  Result<Session> session = open_session(wishes);
  if (!session) return fail(session.error());
  session.value().tape_words = tape_words(wishes, process);
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
