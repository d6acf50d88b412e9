#include "cli/terminal/full_screen.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string_view>

namespace heaptape::cli {
namespace {

// Alternate screen, no cursor, long lines are cut; and back.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";

constexpr std::array kEndings{SIGINT, SIGTERM, SIGHUP};
constexpr std::array kCrashes{SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGQUIT};

volatile sig_atomic_t g_ending = 0;
int g_terminal = -1;
termios g_before{};

void note_ending(int number) { g_ending = number; }
void note_size(int) {}

// May run in a signal handler.
void restore() {
  if (g_terminal < 0) return;
  (void)!::write(g_terminal, kLeave.data(), kLeave.size());
  ::tcsetattr(g_terminal, TCSAFLUSH, &g_before);
  g_terminal = -1;
}

void restore_and_die(int number) {
  restore();
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void handle(int number, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(number, &action, nullptr);
}

struct Sequence {
  std::string_view bytes;
  TopKey key;
};
constexpr std::array kSequences{
    Sequence{"\x1b[A", TopKey::Up},   Sequence{"\x1bOA", TopKey::Up},      Sequence{"\x1b[B", TopKey::Down},
    Sequence{"\x1bOB", TopKey::Down}, Sequence{"\x1b[5~", TopKey::PageUp}, Sequence{"\x1b[6~", TopKey::PageDown},
    Sequence{"\x1b[H", TopKey::Home}, Sequence{"\x1bOH", TopKey::Home},    Sequence{"\x1b[1~", TopKey::Home},
    Sequence{"\x1b[F", TopKey::End},  Sequence{"\x1bOF", TopKey::End},     Sequence{"\x1b[4~", TopKey::End},
    Sequence{"\r", TopKey::Enter},    Sequence{"\n", TopKey::Enter},       Sequence{"\x7f", TopKey::Back},
};

} // namespace

std::vector<FullScreen::Key> keys_of(std::string_view bytes) {
  std::vector<FullScreen::Key> keys;
  while (!bytes.empty()) {
    bool known = false;
    for (const Sequence& sequence : kSequences) {
      if (!bytes.starts_with(sequence.bytes)) continue;
      keys.emplace_back(sequence.key);
      bytes.remove_prefix(sequence.bytes.size());
      known = true;
      break;
    }
    if (known) continue;
    if (bytes.front() != '\x1b') {
      keys.emplace_back(bytes.front());
      bytes.remove_prefix(1);
    } else if (bytes.size() >= 2 && (bytes[1] == '[' || bytes[1] == 'O')) {
      // A key that we have no use for: up to its last byte.
      std::size_t end = 2;
      while (end < bytes.size() && !(bytes[end] >= '@' && bytes[end] <= '~')) ++end;
      bytes.remove_prefix(std::min(end + 1, bytes.size()));
    } else {
      keys.emplace_back(TopKey::Back);
      bytes.remove_prefix(1);
    }
  }
  return keys;
}

// A line is erased before it is written: behind one of the full width the cursor still stands on its last column, and
// erasing from there would take that away.
std::string screen_bytes(const std::vector<std::string>& lines, std::size_t height) {
  std::string out = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) out += (i == 0 ? "\x1b[K" : "\r\n\x1b[K") + lines[i];
  if (lines.size() < height) out += "\r\n\x1b[J";
  return out;
}

FullScreen::FullScreen(UniqueFd terminal) : terminal_(std::move(terminal)) {
  ::tcgetattr(terminal_.get(), &g_before);
  g_terminal = terminal_.get();
  for (const int number : kEndings) handle(number, note_ending, 0);
  for (const int number : kCrashes) handle(number, restore_and_die, static_cast<int>(SA_RESETHAND | SA_NODEFER));
  handle(SIGWINCH, note_size, 0);
  termios raw = g_before;
  raw.c_lflag &= static_cast<tcflag_t>(~(ICANON | ECHO));
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  raw.c_cc[VSUSP] = _POSIX_VDISABLE; // stopped, we would leave the terminal in raw mode
  ::tcsetattr(terminal_.get(), TCSAFLUSH, &raw);
  (void)!::write(terminal_.get(), kEnter.data(), kEnter.size());
}

FullScreen::~FullScreen() {
  restore();
  for (const int number : kEndings) ::signal(number, SIG_DFL);
  for (const int number : kCrashes) ::signal(number, SIG_DFL);
}

Result<std::unique_ptr<FullScreen>> FullScreen::take() {
  UniqueFd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (!terminal || ::isatty(terminal.get()) != 1)
    return Error{ErrorCode::Usage, "no terminal for the live view; use --once or --every T instead"};
  return std::unique_ptr<FullScreen>(new FullScreen(std::move(terminal)));
}

ScreenSize FullScreen::size() const {
  winsize size{};
  if (::ioctl(terminal_.get(), TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

void FullScreen::show(const std::vector<std::string>& lines) {
  const std::string out = screen_bytes(lines, size().height);
  std::string_view left = out;
  while (!left.empty()) {
    const ssize_t wrote = ::write(terminal_.get(), left.data(), left.size());
    if (wrote < 0 && errno == EINTR && g_ending == 0) continue;
    if (wrote <= 0) return;
    left.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

std::vector<FullScreen::Key> FullScreen::keys(std::uint64_t most_ms) {
  pollfd input{terminal_.get(), POLLIN, 0};
  if (::poll(&input, 1, static_cast<int>(most_ms)) <= 0 || (input.revents & POLLIN) == 0) {
    if ((input.revents & (POLLHUP | POLLERR)) != 0) g_ending = SIGHUP;
    return {};
  }
  char bytes[256];
  const ssize_t got = ::read(terminal_.get(), bytes, sizeof bytes);
  if (got == 0) g_ending = SIGHUP;
  return got > 0 ? keys_of({bytes, static_cast<std::size_t>(got)}) : std::vector<Key>{};
}

int FullScreen::asked_to_end() { return g_ending; }

} // namespace heaptape::cli
