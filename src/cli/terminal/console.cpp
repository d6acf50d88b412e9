#include "cli/terminal/console.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "cli/terminal/exit_codes.h"

namespace heaptape::cli {

void say(std::string_view sentence) {
  const std::string line = fmt::format("heaptape: {}\n", sentence);
  // When standard error is gone, there is nowhere to report it.
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

int fail(const Error& error) {
  say(error.sentence);
  return kTrouble;
}

void Output::write() {
  std::size_t done = 0;
  while (!failed_ && done < buffer_.size()) {
    const ssize_t wrote = ::write(STDOUT_FILENO, buffer_.data() + done, buffer_.size() - done);
    if (wrote >= 0) {
      done += static_cast<std::size_t>(wrote);
    } else if (errno != EINTR) {
      failed_ = true;
      // A reader that has seen enough is not a failure worth a line.
      if (errno != EPIPE) say(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
    }
  }
  buffer_.clear();
}

bool Output::finish() {
  write();
  return !failed_;
}

} // namespace heaptape::cli
