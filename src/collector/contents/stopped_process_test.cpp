#include "collector/contents/stopped_process.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include "collector/contents/forked_child_for_test.h"

namespace heaptape {
namespace {

using Voice = ForkedChild::Voice;

#define STOP_OR_SKIP(name, pid)                                                                                        \
  auto name = StoppedProcess::stop(pid, calls);                                                                        \
  if (!name && name.error().code == ErrorCode::Denied) GTEST_SKIP() << name.error().sentence;                          \
  ASSERT_TRUE(name) << name.error().sentence

// A way to wait, and what ends it: a word through the pipe, or SIGUSR1. It gives this much then, or minus its errno.
struct Wait {
  const char* name;
  long (*call)(int pipe);
  bool by_signal;
  long gives;
};

long result_of(long result) { return result < 0 ? -errno : result; }

const Wait kWaits[] = {
    {"Pause", [](int) { return result_of(::pause()); }, true, -EINTR},
    {"Sigsuspend",
     [](int) {
       sigset_t none;
       sigemptyset(&none);
       return result_of(::sigsuspend(&none));
     },
     true, -EINTR},
    {"Nanosleep",
     [](int) {
       const timespec hours{10'000, 0};
       return result_of(::nanosleep(&hours, nullptr));
     },
     true, -EINTR},
    {"FutexWait",
     [](int) {
       static std::uint32_t word = 0;
       const timespec hours{10'000, 0};
       return result_of(::syscall(SYS_futex, &word, FUTEX_WAIT, 0, &hours));
     },
     true, -EINTR},
    {"Sigtimedwait",
     [](int) {
       sigset_t one;
       sigemptyset(&one);
       sigaddset(&one, SIGUSR1);
       ::sigprocmask(SIG_BLOCK, &one, nullptr);
       const timespec hours{10'000, 0};
       return result_of(::sigtimedwait(&one, nullptr, &hours));
     },
     true, SIGUSR1},
    {"Read",
     [](int pipe) {
       std::int64_t word = 0;
       return result_of(::read(pipe, &word, sizeof word));
     },
     false, 8},
    {"Poll",
     [](int pipe) {
       pollfd state{pipe, POLLIN, 0};
       return result_of(::poll(&state, 1, 10'000'000));
     },
     false, 1},
    {"Select",
     [](int pipe) {
       fd_set set;
       FD_ZERO(&set);
       FD_SET(pipe, &set);
       return result_of(::select(pipe + 1, &set, nullptr, nullptr, nullptr));
     },
     false, 1},
    {"EpollWait",
     [](int pipe) {
       const int set = ::epoll_create1(0);
       epoll_event event{.events = EPOLLIN, .data = {}};
       ::epoll_ctl(set, EPOLL_CTL_ADD, pipe, &event);
       return result_of(::epoll_wait(set, &event, 1, -1));
     },
     false, 1},
    {"Accept",
     [](int pipe) {
       const int server = ::socket(AF_UNIX, SOCK_STREAM, 0);
       sockaddr_un name{.sun_family = AF_UNIX, .sun_path = ""};
       ::bind(server, reinterpret_cast<sockaddr*>(&name), sizeof name.sun_family);
       socklen_t size = sizeof name;
       ::getsockname(server, reinterpret_cast<sockaddr*>(&name), &size);
       ::listen(server, 1);
       std::thread([&, size] { // connects when it is told to
         std::int64_t word = 0;
         (void)!::read(pipe, &word, sizeof word);
         const int client = ::socket(AF_UNIX, SOCK_STREAM, 0);
         ::connect(client, reinterpret_cast<sockaddr*>(&name), size);
         ::pause();
       })
           .detach();
       return result_of(::accept(server, nullptr, nullptr)) > 0 ? 1L : result_of(-1);
     },
     false, 1},
    {"ReadOfASocketWithATimeLimit",
     [](int pipe) {
       int ends[2];
       ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
       const timeval hours{10'000, 0};
       ::setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &hours, sizeof hours);
       std::thread([&] {
         std::int64_t word = 0;
         (void)!::read(pipe, &word, sizeof word);
         (void)!::write(ends[1], "x", 1);
         ::pause();
       }).detach();
       char letter = 0;
       return result_of(::read(ends[0], &letter, 1));
     },
     false, 1},
};

class StopsInACall : public testing::TestWithParam<Wait> {};

TEST_P(StopsInACall, WhichGoesOnAsIfNothingHadBeenAlsoAfterCallsForUs) {
  RepeatedCalls calls;
  const Wait& wait = GetParam();
  const ForkedChild child([&](Voice voice) {
    struct sigaction nothing {};
    nothing.sa_handler = [](int) {};
    ::sigaction(SIGUSR1, &nothing, nullptr);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    if (std::strcmp(wait.name, "Sigsuspend") == 0) ::sigprocmask(SIG_BLOCK, &one, nullptr);
    voice.say(1);
    voice.say(wait.call(voice.in));
    ::pause();
  });
  ASSERT_EQ(child.hear(), 1);
  for (int round = 0; round < 10; ++round) {
    child.wait_until_it_is('S');
    STOP_OR_SKIP(stopped, child.pid());
    for (int more = 0; more < round * 3; ++more) ASSERT_EQ(stopped.value().call(SYS_getpid), child.pid());
  }
  child.wait_until_it_is('S');
  EXPECT_FALSE(child.has_said_something()) << "the call has ended, with " << child.hear();
  if (wait.by_signal)
    ::kill(child.pid(), SIGUSR1);
  else
    child.tell(5);
  EXPECT_EQ(child.hear(), wait.gives);
}

INSTANTIATE_TEST_SUITE_P(Waits, StopsInACall, testing::ValuesIn(kWaits),
                         [](const auto& wait) { return std::string(wait.param.name); });

// Signals that queue, with numbers, and a timer that ticks all the time.
std::atomic<std::int64_t> g_next{0}, g_wrong{0}, g_ticks{0};

TEST(StoppedProcess, SignalsThatComeMeanwhileAreNeitherLostNorDoubled) {
  RepeatedCalls calls;
  const ForkedChild child([](Voice voice) {
    struct sigaction count {};
    count.sa_flags = SA_SIGINFO | SA_RESTART;
    count.sa_sigaction = [](int, siginfo_t* info, void*) { g_wrong += info->si_value.sival_int != g_next++; };
    ::sigaction(SIGRTMIN, &count, nullptr);
    struct sigaction tick {};
    tick.sa_flags = SA_RESTART;
    tick.sa_handler = [](int) { ++g_ticks; };
    ::sigaction(SIGALRM, &tick, nullptr);
    const itimerval often{{0, 1000}, {0, 1000}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
    voice.say(1);
    while (true) {
      const std::int64_t wanted = voice.listen();
      for (const std::int64_t ticks = g_ticks; g_next < wanted || g_ticks < ticks + 3;) ::pause();
      voice.say(g_wrong);
    }
  });
  ASSERT_EQ(child.hear(), 1);
  int sent = 0;
  const auto send = [&](int count) {
    for (; count > 0; --count) ::sigqueue(child.pid(), SIGRTMIN, sigval{.sival_int = sent++});
  };
  for (int round = 0; round < 40; ++round) {
    send(round % 3);
    STOP_OR_SKIP(stopped, child.pid());
    send(2);
    ASSERT_EQ(stopped.value().call(SYS_getpid), child.pid());
    send(round % 2);
    ASSERT_EQ(stopped.value().call(SYS_getpid), child.pid());
  }
  EXPECT_EQ(child.ask(sent), 0) << "out of " << sent << " signals";
}

TEST(StoppedProcess, AProgramThatASignalStoppedStaysStopped) {
  RepeatedCalls calls;
  const ForkedChild child([](Voice voice) {
    while (true) voice.say(voice.listen());
  });
  EXPECT_EQ(child.ask(1), 1);
  ::kill(child.pid(), SIGSTOP);
  child.wait_until_it_is('T');
  {
    STOP_OR_SKIP(stopped, child.pid());
    EXPECT_EQ(stopped.value().call(SYS_getpid), child.pid());
  }
  child.wait_until_it_is('T');
  child.tell(2);
  EXPECT_FALSE(child.has_said_something());
  ::kill(child.pid(), SIGCONT);
  EXPECT_EQ(child.hear(), 2);
}

TEST(StoppedProcess, AProgramGoesOnWhenWeAreKilledInTheMiddle) {
  RepeatedCalls calls;
  constexpr int kThreads = 8;
  auto* const rounds = static_cast<std::atomic<std::uint64_t>*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const ForkedChild child([&](Voice voice) {
    for (int i = 0; i < kThreads; ++i)
      std::thread([&, i] {
        while (true) {
          ++rounds[i];
          ::usleep(100);
        }
      }).detach();
    while (true) voice.say(voice.listen());
  });
  EXPECT_EQ(child.ask(1), 1);
  for (int kind = 0; kind < 3; ++kind) {
    ForkedChild collector([&](Voice voice) {
      auto stopped = StoppedProcess::stop(child.pid(), calls);
      if (stopped && kind > 0) stopped.value().call(SYS_getpid);
      if (stopped && kind > 1) (void)stopped.value().make_twin();
      voice.say(stopped ? 1 : 0);
      ::kill(::getpid(), SIGKILL);
    });
    if (collector.hear() == 0) GTEST_SKIP() << "ptrace is not allowed";
    EXPECT_EQ(collector.hear(), ForkedChild::kGone);
    EXPECT_EQ(child.ask(kind), kind);
    for (int i = 0; i < kThreads; ++i) {
      const std::uint64_t before = rounds[i];
      for (int tries = 0; rounds[i] == before && tries < 10'000; ++tries) ::usleep(1000);
      EXPECT_NE(rounds[i], before) << "thread " << i << " stands still";
    }
  }
  ::munmap(rounds, 4096);
}

TEST(StoppedProcess, ATwinIsNeverSeenAndNothingIsLeftOfIt) {
  RepeatedCalls calls;
  const ForkedChild child([](Voice voice) {
    while (true) {
      voice.listen();
      voice.say(::waitpid(-1, nullptr, WNOHANG) < 0 ? errno : 0);
      voice.say(::waitpid(-1, nullptr, WNOHANG | __WALL) < 0 ? errno : 0);
    }
  });
  StoppedProcess::Twin twin;
  {
    STOP_OR_SKIP(stopped, child.pid());
    twin = stopped.value().make_twin();
    ASSERT_GT(twin.pid, 0);
  }
  EXPECT_EQ(child.ask(1), ECHILD) << "while it is there";
  (void)child.hear(); // whoever asks for all kinds of children gets to know
  StoppedProcess::end_twin(child.pid(), twin, calls);
  EXPECT_EQ(::kill(twin.pid, 0), -1) << "it is still there";
  EXPECT_EQ(child.ask(1), ECHILD);
  EXPECT_EQ(child.hear(), ECHILD);
}

TEST(StoppedProcess, AThreadThatCannotBeStoppedIsLeftAlone) {
  RepeatedCalls calls;
  const ForkedChild child([](Voice voice) {
    // The parent of a vfork() waits in a way that nothing interrupts.
    volatile std::int64_t word = 0;
    if (::vfork() == 0) {
      word = voice.listen();
      ::_exit(0);
    }
    voice.say(word);
    voice.say(voice.listen());
  });
  child.wait_until_it_is('D');
  std::thread([&] {
    const auto stopped = StoppedProcess::stop(child.pid(), calls);
    EXPECT_FALSE(stopped);
  }).join();
  EXPECT_EQ(child.ask(4), 4);
  EXPECT_EQ(child.ask(5), 5);
}

TEST(StoppedProcess, IsRefusedWhileADebuggerHoldsTheProgram) {
  RepeatedCalls calls;
  const ForkedChild child([](Voice voice) {
    while (true) voice.say(voice.listen());
  });
  const ForkedChild debugger([&](Voice voice) {
    auto stopped = StoppedProcess::stop(child.pid(), calls);
    voice.say(stopped ? 1 : 0);
    voice.listen();
    stopped.value().release();
    voice.say(2);
    ::pause();
  });
  if (debugger.hear() == 0) GTEST_SKIP() << "ptrace is not allowed";
  const auto refused = StoppedProcess::stop(child.pid(), calls);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Denied);
  EXPECT_NE(refused.error().sentence.find("process " + std::to_string(debugger.pid())), std::string::npos)
      << refused.error().sentence;
  EXPECT_EQ(debugger.ask(1), 2);
  EXPECT_EQ(child.ask(6), 6);
}

} // namespace
} // namespace heaptape
