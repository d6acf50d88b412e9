#include "collector/launch/signal_relay.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/unique_fd.h"

namespace heaptape {
namespace {

bool is_stopped(pid_t process) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", process);
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  char text[256];
  const ssize_t size = file ? ::read(file.get(), text, sizeof text - 1) : -1;
  if (size <= 0) return false;
  text[size] = 0;
  // "pid (name) state ...", and the name may hold anything.
  const char* after_name = std::strrchr(text, ')');
  return after_name != nullptr && after_name[1] == ' ' && after_name[2] == 'T';
}

// While we are stopped nobody but a SIGCONT can wake us. The program, though, may be continued by someone who does not
// know of us, and then end with nobody waiting for it. So a process that does not stop watches it meanwhile. It says so
// again and again until it is ended: the first time we may not have stopped yet.
pid_t start_watcher(pid_t program) {
  const pid_t launcher = ::getpid();
  const pid_t watcher = ::fork();
  if (watcher != 0) return watcher;
  ::setpgid(0, 0);
  constexpr timespec kPollInterval{0, 20'000'000};
  while (::getppid() == launcher) {
    if (!is_stopped(program)) ::kill(launcher, SIGCONT);
    ::nanosleep(&kPollInterval, nullptr);
  }
  ::_exit(0);
}

// Returns when we have been continued.
void stop_like(pid_t program, int signal) {
  const pid_t watcher = start_watcher(program);
  struct sigaction by_default {
  }, before{};
  by_default.sa_handler = SIG_DFL;
  ::sigaction(signal, &by_default, &before);
  sigset_t only_this, held;
  ::sigemptyset(&only_this);
  ::sigaddset(&only_this, signal);
  ::kill(::getpid(), signal);
  ::sigprocmask(SIG_UNBLOCK, &only_this, &held); // here we stop
  ::sigprocmask(SIG_SETMASK, &held, nullptr);
  ::sigaction(signal, &before, nullptr);
  if (watcher > 0) {
    ::kill(watcher, SIGKILL);
    ::waitpid(watcher, nullptr, 0);
  }
  // A shell continues the whole group; somebody with only our pid continues us alone. Without a SIGCONT we never
  // stopped: a group that no shell looks after cannot be stopped from the keyboard.
  sigset_t only_continue;
  ::sigemptyset(&only_continue);
  ::sigaddset(&only_continue, SIGCONT);
  const timespec at_once{};
  if (::sigtimedwait(&only_continue, nullptr, &at_once) == SIGCONT && is_stopped(program)) ::kill(program, SIGCONT);
}

void pass_on(const siginfo_t& signal, pid_t program) {
  if (signal.si_code == SI_QUEUE)
    ::sigqueue(program, signal.si_signo, signal.si_value);
  else
    ::kill(program, signal.si_signo);
}

} // namespace

bool is_for_program(const siginfo_t& signal, pid_t program, bool session_leader) {
  switch (signal.si_signo) {
  case SIGCHLD: return false;
  case SIGALRM: return true; // a timer set before heaptape was started does not pass to children
  case SIGHUP:
    // A terminal that hangs up tells the session's leader first, and natively that would be the program.
    if (session_leader && signal.si_code == SI_KERNEL) return true;
    break;
  default: break;
  }
  const bool sent = signal.si_code == SI_USER || signal.si_code == SI_TKILL || signal.si_code == SI_QUEUE;
  return sent && signal.si_pid != program;
}

int wait_and_relay(pid_t program, const std::function<void()>& child_changed) {
  sigset_t all;
  ::sigfillset(&all);
  const bool session_leader = ::getsid(0) == ::getpid();
  for (;;) {
    int status = 0;
    const pid_t changed = ::waitpid(program, &status, WNOHANG | WUNTRACED);
    if (changed == program && !WIFSTOPPED(status)) return status;
    if (changed < 0 && errno != EINTR) return 0; // not our child: cannot happen while SIGCHLD has its default
    if (changed == program) {
      stop_like(program, WSTOPSIG(status));
      continue;
    }
    siginfo_t signal{};
    if (::sigwaitinfo(&all, &signal) < 0) continue;
    if (signal.si_signo == SIGCHLD && child_changed) child_changed();
    if (is_for_program(signal, program, session_leader)) pass_on(signal, program);
  }
}

} // namespace heaptape
