#include "cli/terminal/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace heaptape::cli {

unsigned paging_rows() {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) return 0;
  const char* pager = std::getenv("PAGER");
  if (pager != nullptr && *pager == 0) return 0;
  if (const char* term = std::getenv("TERM"); term != nullptr && std::string_view(term) == "dumb") return 0;
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
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
            "wanted=${PAGER-less}; command -v \"${wanted%% *}\" >/dev/null || exec cat; eval \"exec $wanted\"",
            nullptr);
    ::_exit(127);
  }
  ::close(ends[0]);
  pipe_ = ends[1];
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
  if (closed_) return false;
  if (rows_ == 0 || pipe_ >= 0) return write(text);
  kept_ += text;
  lines_ += static_cast<unsigned>(std::count(text.begin(), text.end(), '\n'));
  if (lines_ + 2 <= rows_) return true;
  const std::string all = std::move(kept_);
  kept_.clear();
  if (!start_pager()) rows_ = 0;
  return write(all);
}

void PagedOutput::finish() {
  if (!kept_.empty()) write(kept_);
  kept_.clear();
  if (pipe_ < 0) return;
  ::close(pipe_);
  pipe_ = -1;
  while (::waitpid(pager_, nullptr, 0) < 0 && errno == EINTR) {}
}

} // namespace heaptape::cli
