#include "collector/launch/signal_relay.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "collector/launch/inherited_state.h"
#include "collector/launch/launcher.h"
#include "collector/observe/proc_files.h"

namespace heaptape {
namespace {

constexpr pid_t kProgram = 4711;

siginfo_t sent(int number, int code, pid_t sender) {
  siginfo_t signal{};
  signal.si_signo = number;
  signal.si_code = code;
  signal.si_pid = sender;
  return signal;
}

TEST(SignalRelay, WhatSomebodySendsIsForTheProgram) {
  EXPECT_TRUE(is_for_program(sent(SIGTERM, SI_USER, 1), kProgram, false));
  EXPECT_TRUE(is_for_program(sent(SIGUSR1, SI_QUEUE, 1), kProgram, false));
  EXPECT_TRUE(is_for_program(sent(SIGINT, SI_TKILL, 1), kProgram, false));
}

TEST(SignalRelay, WhatTheTerminalSendsHasReachedTheProgramAlready) {
  EXPECT_FALSE(is_for_program(sent(SIGINT, SI_KERNEL, 0), kProgram, false));
  EXPECT_FALSE(is_for_program(sent(SIGTSTP, SI_KERNEL, 0), kProgram, false));
  EXPECT_FALSE(is_for_program(sent(SIGHUP, SI_KERNEL, 0), kProgram, false));
}

TEST(SignalRelay, HangupOfTheSessionsLeaderIsForTheProgram) {
  EXPECT_TRUE(is_for_program(sent(SIGHUP, SI_KERNEL, 0), kProgram, true));
}

TEST(SignalRelay, AlarmSetBeforeTheStartIsForTheProgram) {
  EXPECT_TRUE(is_for_program(sent(SIGALRM, SI_KERNEL, 0), kProgram, false));
}

TEST(SignalRelay, ProgramsOwnSignalsDoNotComeBack) {
  EXPECT_FALSE(is_for_program(sent(SIGTERM, SI_USER, kProgram), kProgram, false));
  EXPECT_FALSE(is_for_program(sent(SIGCHLD, CLD_EXITED, kProgram), kProgram, false));
}

TEST(SignalRelay, ExitStatusIsWhatAShellWouldSay) {
  EXPECT_EQ(exit_status_of(3 << 8), 3);
  EXPECT_EQ(exit_status_of(SIGKILL), 128 + SIGKILL);
  EXPECT_EQ(exit_status_of(SIGSEGV | 0x80), 128 + SIGSEGV);
}

// Runs `body` as a launcher in a process of its own: a relay may stop, and holds all signals.
template <class Body>
pid_t in_a_process(Body body) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::_exit(body());
}

// Waits a minute at most; -1 when nothing happened.
int status_of(pid_t pid, int options) {
  for (int i = 0; i < 6000; ++i) {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG | options) == pid) return status;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return -1;
}

int relay_around(pid_t program) {
  const int status = wait_and_relay(program);
  return exit_status_of(status);
}

void wait_until_stopped(pid_t pid) {
  const std::string file = "/proc/" + std::to_string(pid) + "/stat";
  while (true) {
    const auto stat = parse_proc_stat(read_small_file(file));
    if (!stat || stat->state == 'T') return;
    ::usleep(1000);
  }
}

TEST(SignalRelay, TermSentToUsEndsTheProgram) {
  int running[2];
  ASSERT_EQ(::pipe(running), 0);
  const pid_t relay = in_a_process([&] {
    InheritedState state;
    state.hold_signals();
    const pid_t program = in_a_process([&] {
      state.restore_for_program();
      (void)!::write(running[1], "r", 1);
      ::pause();
      return 0;
    });
    return relay_around(program);
  });
  char word = 0;
  ASSERT_EQ(::read(running[0], &word, 1), 1); // so the relay holds its signals by now
  ::kill(relay, SIGTERM);
  const int status = status_of(relay, 0);
  ASSERT_NE(status, -1);
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
}

TEST(SignalRelay, StopsWithTheProgramAndContinuesIt) {
  const pid_t relay = in_a_process([] {
    InheritedState state;
    state.hold_signals();
    const pid_t program = in_a_process([&] {
      state.restore_for_program();
      ::raise(SIGSTOP);
      return 7;
    });
    return relay_around(program);
  });
  const int stopped = status_of(relay, WUNTRACED);
  ASSERT_NE(stopped, -1);
  ASSERT_TRUE(WIFSTOPPED(stopped));
  EXPECT_EQ(WSTOPSIG(stopped), SIGSTOP);
  ::kill(relay, SIGCONT);
  const int status = status_of(relay, 0);
  ASSERT_NE(status, -1);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(SignalRelay, WakesUpWhenSomebodyElseContinuesTheProgram) {
  const pid_t relay = in_a_process([] {
    InheritedState state;
    state.hold_signals();
    const pid_t program = in_a_process([&] {
      state.restore_for_program();
      const pid_t self = ::getpid(), launcher = ::getppid();
      if (::fork() == 0) {
        wait_until_stopped(self);
        wait_until_stopped(launcher);
        ::kill(self, SIGCONT);
        ::_exit(0);
      }
      ::raise(SIGSTOP);
      return 8;
    });
    return relay_around(program);
  });
  const int status = status_of(relay, 0);
  ASSERT_NE(status, -1);
  EXPECT_EQ(WEXITSTATUS(status), 8);
}

TEST(InheritedState, ProgramFindsTheMaskAndTheChildDispositionOfTheStart) {
  const pid_t child = in_a_process([] {
    ::signal(SIGCHLD, SIG_IGN);
    sigset_t some;
    ::sigemptyset(&some);
    ::sigaddset(&some, SIGUSR2);
    ::sigprocmask(SIG_SETMASK, &some, nullptr);
    InheritedState state;
    state.hold_signals();
    state.restore_for_program();
    struct sigaction action {};
    ::sigaction(SIGCHLD, nullptr, &action);
    sigset_t mask;
    ::sigprocmask(SIG_SETMASK, nullptr, &mask);
    const bool same =
        action.sa_handler == SIG_IGN && ::sigismember(&mask, SIGUSR2) == 1 && ::sigismember(&mask, SIGTERM) == 0;
    return same ? 0 : 1;
  });
  const int status = status_of(child, 0);
  ASSERT_NE(status, -1);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

} // namespace
} // namespace heaptape
