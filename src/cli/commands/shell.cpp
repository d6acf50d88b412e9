// heaptape shell: questions to a tape, line by line.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "base/system_error.h"
#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/options/tape_session.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "cli/terminal/line_editor.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/without_interrupts.h"
#include "report/text/damage_text.h"
#include "shell/interpreter.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape shell [options] [TAPE]",
    .purpose =
        "Moves a cursor over a tape and answers questions about the heap at that moment: what lived at an address, who "
        "freed it, what happened just before. Commands come from the terminal, --command, or standard input.",
    .more =
        R"(POSITION is an event number, a time (12.5s), peak, start, end, the name of a mark, or a sum such as peak-1.
Type 'help' for the commands. Most also work on their own: heaptape explain TAPE ADDR.

Examples:
  heaptape shell app.tape
  heaptape shell --at peak -c where -c 'blocks size>1M' app.tape
  echo 'explain 0x55d0c4a2e2b0' | heaptape shell app.tape
)"};

Session* g_session = nullptr; // of the one shell, for the signal handler

void on_interrupt(int) {
  if (g_session != nullptr) g_session->stop();
}

// Ctrl-C sets a flag that searches look at; it also interrupts a read, for the handler has no SA_RESTART.
class Interrupts {
public:
  explicit Interrupts(Session& session) {
    g_session = &session;
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    ::sigaction(SIGINT, &action, &before_);
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignore, &pipe_before_);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts() {
    ::sigaction(SIGINT, &before_, nullptr);
    ::sigaction(SIGPIPE, &pipe_before_, nullptr);
    g_session = nullptr;
  }

private:
  struct sigaction before_ {};
  struct sigaction pipe_before_ {};
};

std::string history_file() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    return std::string(state) + "/heaptape_history";
  }
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.heaptape_history" : std::string();
}

class Shell {
public:
  Shell(Session& session, std::string color) : session_(session), color_(std::move(color)) {}

  // False: the user wants to leave. A Ctrl-C that came since the line was entered stops it, as one during a search does.
  bool run(std::string_view line) {
    if (const Result<TextStyle> style = style_of_output(color_))
      session_.style = style.value(); // the window may have changed
    PagedOutput out(paging_rows());
    if (line.find("--json") == line.npos) out.fold_at(session_.style.width);
    const Result<LineEnd> end = run_line(session_, line, out);
    out.finish();
    for (const std::string& sentence : damage_sentences(session_.take_damage()))
      say(session_.view().path() + " is damaged: " + sentence);
    if (out.failed()) {
      say("cannot write to standard output: " + system_message(out.error()));
      failed_ = true;
      return false;
    }
    const bool stopped = session_.should_stop();
    session_.go_on(); // the next line is another matter
    if (stopped && (end || end.error().code != ErrorCode::Stopped)) say("stopped");
    if (!end) {
      say(end.error().sentence);
      failed_ = true;
    }
    return !end || end.value() == LineEnd::GoOn;
  }

  bool failed() const { return failed_; }

private:
  Session& session_;
  std::string color_;
  bool failed_ = false;
};

void talk(Session& session, Shell& shell) {
  LineEditor editor(history_file(), [&](std::string_view text) {
    return LineEditor::Completion{completed_from(text), completions(session, text)};
  });
  for (;;) {
    LineEditor::Read read;
    {
      // Of the interrupts that come from here on, those that meet an unfinished line end it in the editor; a later one
      // is for the line that was entered.
      const WithoutInterrupts without_interrupts;
      session.go_on();
      read = editor.read(prompt_of(session));
    }
    if (read.outcome == LineEditor::Outcome::Interrupted) continue;
    if (read.outcome == LineEditor::Outcome::End) {
      ::write(STDOUT_FILENO, "\n", 1) > 0 ? void() : void();
      return;
    }
    if (!shell.run(read.line)) return;
  }
}

} // namespace

int shell(Arguments arguments) {
  SessionWishes wishes;
  std::vector<std::string> lines;
  OptionList list("shell");
  list.repeated("-c,--command CMD", lines, "run this command and exit; repeatable");
  list.text("--at POSITION", wishes.at, "where the cursor starts (default: end)");
  list.number("--limit N", wishes.limit, "act as if the tape ended with event N").between(1, 1'000'000'000'000);
  list.text("--names FORM", wishes.names, "short (default), full (with parameters and template arguments) or mangled")
      .one_of({"short", "full", "mangled"});
  list.text("--color WHEN", wishes.color, "auto (default: on a terminal, unless NO_COLOR is set), always or never")
      .one_of({"auto", "always", "never"});
  wishes.tape.add(list);
  if (const auto status = parse(list, kHelp, arguments)) return *status;

  Result<Session> session = open_session(wishes);
  if (!session) return fail(session.error());
  const Interrupts interrupts(session.value());
  Shell talker(session.value(), wishes.color);
  if (!lines.empty()) {
    for (const std::string& line : lines) {
      if (!talker.run(line)) break;
    }
    return talker.failed() ? kTrouble : kOk;
  }
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) {
    say("'help' lists the commands; the cursor is at the end of the tape");
    talk(session.value(), talker);
    return kOk;
  }
  for (std::string line; std::getline(std::cin, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!talker.run(line)) break;
  }
  return talker.failed() ? kTrouble : kOk;
}

} // namespace heaptape::cli
