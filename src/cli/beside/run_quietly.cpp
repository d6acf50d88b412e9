#include "cli/beside/run_quietly.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "base/system_error.h"

namespace heaptape::cli {
namespace {

using Clock = std::chrono::steady_clock;

sigset_t signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&set, signal);
  return set;
}

[[noreturn]] void become(const std::vector<char*>& words, bool keep_output) {
  (void)::setpgid(0, 0);
  const sigset_t set = signals();
  (void)::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  const int null = ::open("/dev/null", O_RDWR);
  (void)::dup2(null, STDIN_FILENO);
  if (!keep_output) {
    (void)::dup2(null, STDOUT_FILENO);
    (void)::dup2(null, STDERR_FILENO);
  }
  if (null > STDERR_FILENO) (void)::close(null);
  ::execv(words.front(), words.data());
  ::_exit(127);
}

// Killed, and waited for.
void end_group(pid_t pid) {
  (void)::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
}

} // namespace

SignalsHeld::SignalsHeld() {
  const sigset_t set = signals();
  (void)::sigprocmask(SIG_BLOCK, &set, nullptr);
}
SignalsHeld::~SignalsHeld() {
  const sigset_t set = signals();
  (void)::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

Result<QuietRun> run_quietly(const std::vector<std::string>& command, bool keep_output,
                             std::chrono::milliseconds limit) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const Clock::time_point begin = Clock::now();
  const pid_t pid = ::fork();
  if (pid < 0) return Error{ErrorCode::Exhausted, "cannot start a run: " + system_message(errno)};
  if (pid == 0) become(words, keep_output);
  (void)::setpgid(pid, pid); // whoever of the two comes first
  const sigset_t set = signals();
  QuietRun run;
  while (true) {
    int status = 0;
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    const auto now = Clock::now();
    run.took = std::chrono::duration_cast<std::chrono::milliseconds>(now - begin);
    if (ended == pid) {
      run.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      (void)::kill(-pid, SIGKILL); // what it has left behind
      return run;
    }
    const auto left = limit - run.took;
    if (left.count() <= 0) {
      run.end = RunEnd::TimedOut;
      end_group(pid);
      return run;
    }
    const timespec patience{.tv_sec = left.count() / 1000, .tv_nsec = left.count() % 1000 * 1'000'000 + 1};
    const int signal = ::sigtimedwait(&set, nullptr, &patience);
    if (signal == SIGINT || signal == SIGTERM) {
      run.end = RunEnd::BrokenOff;
      end_group(pid);
      return run;
    }
  }
}

} // namespace heaptape::cli
