#include "cli/live/top_beside.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cli/live/live_top.h"
#include "cli/terminal/terminal.h"

namespace heaptape::cli {
namespace {

// In the child: hears which tape, and shows it.
int show_what_comes(int pipe) {
  std::string tape;
  char bytes[4096];
  ssize_t got = 0;
  while ((got = ::read(pipe, bytes, sizeof bytes)) > 0 || (got < 0 && errno == EINTR)) {
    if (got > 0) tape.append(bytes, static_cast<std::size_t>(got));
  }
  if (tape.empty()) return 0; // nothing was recorded
  LiveTop options{.tape = tape, .every_us = 1'000'000};
  if (const Result<TextStyle> style = style_of_output("always")) options.style = style.value();
  if (const char* plain = ::getenv("NO_COLOR"); plain != nullptr && *plain != '\0') options.style.color = false;
  return run_top_beside(options);
}

} // namespace

Result<TopBeside> TopBeside::begin() {
  if (::isatty(STDOUT_FILENO) == 1 || ::isatty(STDERR_FILENO) == 1) {
    return Error{ErrorCode::Usage,
                 "--top needs the terminal for itself, but the program would write to it; redirect its output "
                 "(heaptape record --top PROGRAM >out 2>&1), or run 'heaptape top -p PID' in another terminal"};
  }
  const UniqueFd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (!terminal) return Error{ErrorCode::Usage, "--top needs a terminal; --top-every T prints tables instead"};
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Error{ErrorCode::Io, std::string("cannot make a pipe: ") + std::strerror(errno)};
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return Error{ErrorCode::Io, std::string("cannot start a process: ") + std::strerror(errno)};
  if (pid == 0) {
    write_end.reset();
    ::_exit(show_what_comes(read_end.get()));
  }
  // Keys are the view's.
  if (::isatty(STDIN_FILENO) == 1) {
    const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (nothing) ::dup2(nothing.get(), STDIN_FILENO);
  }
  return TopBeside(pid, std::move(write_end));
}

TopBeside::TopBeside(TopBeside&& other) noexcept : pid_(std::exchange(other.pid_, -1)), pipe_(std::move(other.pipe_)) {}

TopBeside::~TopBeside() {
  pipe_.reset();
  if (pid_ < 0) return;
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
}

void TopBeside::show(const std::string& tape) {
  (void)!::write(pipe_.get(), tape.data(), tape.size());
  pipe_.reset();
}

} // namespace heaptape::cli
