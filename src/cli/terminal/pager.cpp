#include "cli/terminal/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "report/text/text_style.h"

namespace heaptape::cli {

namespace {

bool g_never = false;

const char* wanted_pager() {
  const char* own = std::getenv("HEAPTAPE_PAGER");
  return own != nullptr ? own : std::getenv("PAGER");
}

winsize terminal_size() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size : winsize{};
}

// Ctrl-C and a pager that is left are the pager's business, unless somebody here looks after the signal.
void ignore_default(int signal) {
  struct sigaction now {};
  if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) ::signal(signal, SIG_IGN);
}

} // namespace

void never_page() { g_never = true; }

std::size_t rows_of(std::string_view text, std::size_t columns) {
  std::size_t rows = 0, column = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\n') {
      ++rows;
      column = 0;
    } else if (byte == 0x1b) { // ESC [ ... letter
      while (i + 1 < text.size() && !((text[i] | 0x20) >= 'a' && (text[i] | 0x20) <= 'z')) ++i;
    } else if ((byte & 0xc0) != 0x80) {
      if (columns != 0 && column == columns) {
        ++rows;
        column = 0;
      }
      ++column;
    }
  }
  return rows + (column != 0 ? 1 : 0);
}

unsigned paging_rows() {
  if (g_never || ::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) return 0;
  const char* pager = wanted_pager();
  if (pager != nullptr && *pager == 0) return 0;
  if (const char* term = std::getenv("TERM"); term != nullptr && std::string_view(term) == "dumb") return 0;
  return terminal_size().ws_row;
}

bool PagedOutput::start_pager() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  pager_ = ::fork();
  if (pager_ < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    pager_ = 0;
    return false;
  }
  if (pager_ == 0) {
    ::dup2(ends[0], STDIN_FILENO);
    // -F would end at once on short text, -R shows colours, -X leaves the text on the screen. A user's own choice
    // stands.
    ::setenv("LESS", "FRX", 0);
    ::signal(SIGINT, SIG_DFL);
    ::signal(SIGPIPE, SIG_DFL);
    // A pager that is not there must not swallow the answer.
    ::execl("/bin/sh", "sh", "-c",
            "wanted=${HEAPTAPE_PAGER-${PAGER-less}}; command -v \"${wanted%% *}\" >/dev/null || exec cat; eval \"exec "
            "$wanted\"",
            nullptr);
    ::_exit(127);
  }
  ::close(ends[0]);
  pipe_ = ends[1];
  ignore_default(SIGINT);
  ignore_default(SIGPIPE);
  return true;
}

bool PagedOutput::write(std::string_view text) {
  const int fd = pipe_ >= 0 ? pipe_ : STDOUT_FILENO;
  while (!text.empty() && !closed_) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written > 0)
      text.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR) {
      closed_ = true; // the pager was left, or the pipe is closed
      if (pipe_ < 0 && errno != EPIPE) error_ = errno;
    }
  }
  return !closed_;
}

bool PagedOutput::print(std::string_view text) {
  if (columns_ == 0) return show(text);
  unfolded_ += text;
  const std::size_t lines = unfolded_.rfind('\n') + 1; // npos + 1 is 0
  const std::string whole = unfolded_.substr(0, lines);
  unfolded_.erase(0, lines);
  return show(folded_lines(whole, columns_));
}

bool PagedOutput::show(std::string_view text) {
  if (closed_) return false;
  if (rows_ == 0 || pipe_ >= 0) return write(text);
  kept_ += text;
  if (rows_of(kept_, terminal_size().ws_col) + 2 <= rows_) return true;
  const std::string all = std::move(kept_);
  kept_.clear();
  if (!start_pager()) rows_ = 0;
  return write(all);
}

void PagedOutput::finish() {
  if (!unfolded_.empty()) show(unfolded_);
  unfolded_.clear();
  if (!kept_.empty()) write(kept_);
  kept_.clear();
  if (pipe_ < 0) return;
  ::close(pipe_);
  pipe_ = -1;
  while (::waitpid(pager_, nullptr, 0) < 0 && errno == EINTR) {}
}

} // namespace heaptape::cli
