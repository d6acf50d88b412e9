#include "collector/launch/inherited_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace heaptape {
namespace {

void open_closed_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // open() takes the lowest free number, which is `fd`: those below it are open by now.
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)::open("/dev/null", O_RDWR | O_CLOEXEC);
  }
}

} // namespace

InheritedState::InheritedState()
    : limits_{{{RLIMIT_AS, {}}, {RLIMIT_FSIZE, {}}, {RLIMIT_CPU, {}}, {RLIMIT_NOFILE, {}}}} {
  open_closed_standard_descriptors();
  ::sigprocmask(SIG_SETMASK, nullptr, &mask_);
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &by_default, &child_action_);
  for (Limit& limit : limits_) {
    if (::getrlimit(static_cast<__rlimit_resource>(limit.resource), &limit.value) != 0) continue;
    const rlimit raised{limit.value.rlim_max, limit.value.rlim_max};
    if (limit.value.rlim_cur != limit.value.rlim_max) {
      ::setrlimit(static_cast<__rlimit_resource>(limit.resource), &raised);
    }
  }
}

void InheritedState::hold_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
}

bool InheritedState::asked_to_end() const {
  sigset_t held;
  ::sigpending(&held);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    struct sigaction action {};
    // A blocked signal is held even when it is ignored.
    if (::sigismember(&held, signal) == 1 && ::sigismember(&mask_, signal) == 0 &&
        ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
      return true;
    }
  }
  return false;
}

void InheritedState::drop_signals() {
  sigset_t all;
  ::sigfillset(&all);
  const timespec at_once{};
  while (::sigtimedwait(&all, nullptr, &at_once) > 0) {}
}

void InheritedState::let_signals_act() { ::sigprocmask(SIG_SETMASK, &mask_, nullptr); }

void InheritedState::restore_for_program() const {
  for (const Limit& limit : limits_) ::setrlimit(static_cast<__rlimit_resource>(limit.resource), &limit.value);
  ::sigaction(SIGCHLD, &child_action_, nullptr);
  ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

} // namespace heaptape
