#include "cli/terminal/line_editor.h"

#include <histedit.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cwchar>

#include "cli/terminal/without_interrupts.h"

namespace heaptape::cli {
namespace {

// The next byte of standard input. Interrupts arrive here and nowhere else while a line is edited; one that came at any
// moment before, while a key was worked on, ends the wait at once. -1 with errno EINTR then; 0 at the end of input.
int next_byte(char& byte) {
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  ::sigdelset(&mask, SIGINT);
  // Input that is there already was typed after an interrupt that waits, but a poll would see the input first.
  constexpr timespec kAtOnce{};
  if (::ppoll(nullptr, 0, &kAtOnce, &mask) < 0) return -1;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (::ppoll(&input, 1, nullptr, &mask) < 0) return -1;
  return static_cast<int>(::read(STDIN_FILENO, &byte, 1));
}

// libedit's own function loses an interrupt that comes while it is not reading.
int next_character(EditLine*, wchar_t* character) {
  std::mbstate_t state{};
  while (true) {
    char byte = 0;
    const int got = next_byte(byte);
    if (got <= 0) return got;
    const std::size_t used = std::mbrtowc(character, &byte, 1, &state);
    if (used == 0 || used == 1) return 1;
    if (used == static_cast<std::size_t>(-1)) state = {}; // no character; go on behind it
  }
}

} // namespace

struct LineEditor::State {
  EditLine* editor = nullptr;
  History* history = nullptr;
  HistEvent event{};
  std::string history_file;
  std::string prompt;
  Complete complete;

  static State* of(EditLine* editor) {
    void* state = nullptr;
    ::el_get(editor, EL_CLIENTDATA, &state);
    return static_cast<State*>(state);
  }

  static char* show_prompt(EditLine* editor) { return of(editor)->prompt.data(); }

  // What all the words begin with.
  static std::string common_start(const std::vector<std::string>& words) {
    std::string start = words.front();
    for (const std::string& word : words) {
      const auto differ = std::mismatch(start.begin(), start.end(), word.begin(), word.end()).first;
      start.erase(differ, start.end());
    }
    return start;
  }

  static void list(const std::vector<std::string>& words) {
    std::size_t widest = 0;
    for (const std::string& word : words) widest = std::max(widest, word.size());
    const std::size_t columns = std::max<std::size_t>(1, 78 / (widest + 2));
    std::string text = "\n";
    for (std::size_t i = 0; i < words.size(); ++i) {
      text += words[i] + std::string(widest + 2 - words[i].size(), ' ');
      if (i % columns == columns - 1 || i + 1 == words.size()) text += "\n";
    }
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }

  static unsigned char on_tab(EditLine* editor, int) {
    State& state = *of(editor);
    const LineInfo* line = ::el_line(editor);
    const std::string text(line->buffer, line->cursor);
    const Completion found = state.complete(text);
    if (found.words.empty()) return CC_ERROR;
    const std::string typed = text.substr(std::min(found.from, text.size()));
    std::string start = common_start(found.words);
    if (found.words.size() == 1 && start.find_first_of("(\"'~=") == start.npos) start += ' ';
    if (start.size() > typed.size()) {
      ::el_insertstr(editor, start.c_str() + typed.size());
      return CC_REFRESH;
    }
    list(found.words);
    return CC_REDISPLAY;
  }
};

LineEditor::LineEditor(const std::string& history_file, Complete complete) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.history_file = history_file;
  s.complete = std::move(complete);
  std::setlocale(LC_CTYPE, ""); // which bytes make a character
  s.editor = ::el_init("heaptape", stdin, stdout, stderr);
  ::el_set(s.editor, EL_CLIENTDATA, &s);
  ::el_set(s.editor, EL_PROMPT, &State::show_prompt);
  ::el_set(s.editor, EL_EDITOR, "emacs");
  ::el_set(s.editor, EL_SIGNAL, 0); // Ctrl-C is the shell's business
  ::el_set(s.editor, EL_GETCFN, &next_character);
  s.history = ::history_init();
  ::history(s.history, &s.event, H_SETSIZE, 2000);
  ::history(s.history, &s.event, H_SETUNIQUE, 1);
  if (!s.history_file.empty()) ::history(s.history, &s.event, H_LOAD, s.history_file.c_str());
  ::el_set(s.editor, EL_HIST, ::history, s.history);
  ::el_set(s.editor, EL_ADDFN, "heaptape-complete", "completes the word", &State::on_tab);
  ::el_set(s.editor, EL_BIND, "^I", "heaptape-complete", nullptr);
  ::el_set(s.editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
}

LineEditor::~LineEditor() {
  State& s = *state_;
  if (!s.history_file.empty()) {
    const mode_t before = ::umask(077); // commands may hold what is private
    ::history(s.history, &s.event, H_SAVE, s.history_file.c_str());
    ::umask(before);
  }
  ::history_end(s.history);
  ::el_end(s.editor);
}

LineEditor::Read LineEditor::read(const std::string& prompt) {
  State& s = *state_;
  s.prompt = prompt;
  ::el_resize(s.editor); // the window may have changed while a command ran
  const WithoutInterrupts without_interrupts;
  // Before the prompt is shown: a line that is typed into a terminal that still waits for whole lines would be thrown
  // away by a Ctrl-C that follows it, though the user has seen both entered.
  ::el_set(s.editor, EL_PREP_TERM, 1);
  int count = 0;
  errno = 0;
  const char* line = ::el_gets(s.editor, &count);
  if (line == nullptr || count <= 0) {
    if (count == -1 && errno == EINTR) {
      ::el_reset(s.editor);
      std::fputs("^C\n", stdout);
      return {.outcome = Outcome::Interrupted};
    }
    return {.outcome = Outcome::End};
  }
  Read read{.outcome = Outcome::Line, .line = std::string(line, static_cast<std::size_t>(count))};
  while (!read.line.empty() && (read.line.back() == '\n' || read.line.back() == '\r')) read.line.pop_back();
  if (read.line.find_first_not_of(" \t") != read.line.npos) ::history(s.history, &s.event, H_ENTER, line);
  return read;
}

} // namespace heaptape::cli
