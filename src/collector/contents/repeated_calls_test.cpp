#include "collector/contents/repeated_calls.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "collector/contents/forked_child_for_test.h"
#include "collector/contents/stopped_process.h"

namespace heaptape {
namespace {

using Voice = ForkedChild::Voice;

// A call that ends when its time is over, and what it gives then, or minus its errno.
struct Wait {
  const char* name;
  long (*call)();
  long gives;
};

long result_of(long result) { return result < 0 ? -errno : result; }

const Wait kWaits[] = {
    {"EpollWait",
     [] {
       epoll_event event{};
       return result_of(::epoll_wait(::epoll_create1(0), &event, 1, 150));
     },
     0},
    {"EpollPwait2",
     [] {
       epoll_event event{};
       const timespec limit{0, 150'000'000};
       return result_of(::syscall(SYS_epoll_pwait2, ::epoll_create1(0), &event, 1, &limit, nullptr, 0));
     },
     0},
    {"Sigtimedwait",
     [] {
       sigset_t one;
       sigemptyset(&one);
       sigaddset(&one, SIGUSR1);
       const timespec limit{0, 150'000'000};
       return result_of(::sigtimedwait(&one, nullptr, &limit));
     },
     -EAGAIN},
    {"ReadOfASocket",
     [] {
       int ends[2];
       ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
       const timeval limit{0, 150'000};
       ::setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
       char letter = 0;
       return result_of(::read(ends[0], &letter, 1));
     },
     -EAGAIN},
    {"SendToASocket",
     [] {
       int ends[2];
       ::socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
       const timeval limit{0, 150'000};
       ::setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
       long sent = 1;
       while (sent > 0) sent = result_of(::send(ends[0], "x", 1, 0)); // until nobody has taken enough of them
       return sent;
     },
     -EAGAIN},
};

class StopsBeforeATimeLimit : public testing::TestWithParam<Wait> {};

TEST_P(StopsBeforeATimeLimit, WhichEndsAlthoughTheStopsComeMoreOften) {
  RepeatedCalls calls;
  const Wait& wait = GetParam();
  const ForkedChild child([&](Voice voice) {
    voice.say(1);
    voice.say(wait.call());
    ::pause();
  });
  ASSERT_EQ(child.hear(), 1);
  const timespec pause{0, 20'000'000};
  for (int stops = 0; stops < 1'000 && !child.has_said_something(); ++stops) {
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
    const auto stopped = StoppedProcess::stop(child.pid(), calls);
    if (!stopped && stopped.error().code == ErrorCode::Denied) GTEST_SKIP() << stopped.error().sentence;
    ASSERT_TRUE(stopped) << stopped.error().sentence;
  }
  ASSERT_TRUE(child.has_said_something()) << "it waits for ever";
  EXPECT_EQ(child.hear(), wait.gives);
}

INSTANTIATE_TEST_SUITE_P(Waits, StopsBeforeATimeLimit, testing::ValuesIn(kWaits),
                         [](const auto& wait) { return std::string(wait.param.name); });

} // namespace
} // namespace heaptape
