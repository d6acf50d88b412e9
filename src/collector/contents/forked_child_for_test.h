// A process for tests: runs a function and talks to the test in words of eight bytes. It ends with the test.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

#include "collector/observe/proc_files.h"

namespace heaptape {

class ForkedChild {
public:
  static constexpr std::int64_t kGone = -1'000'000;

  // What the function is given.
  struct Voice {
    int in, out;
    void say(std::int64_t word) const { (void)!::write(out, &word, sizeof word); }
    // The next word of the test; it ends when there is none.
    std::int64_t listen() const {
      std::int64_t word = 0;
      if (::read(in, &word, sizeof word) != sizeof word) ::_exit(3);
      return word;
    }
  };

  template <class Body>
  explicit ForkedChild(Body body) {
    EXPECT_EQ(::pipe(to_), 0);
    EXPECT_EQ(::pipe(from_), 0);
    pid_ = ::fork();
    if (pid_ != 0) {
      ::close(std::exchange(from_[1], -1)); // so that its end is heard
      return;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    body(Voice{to_[0], from_[1]});
    ::_exit(0);
  }
  ~ForkedChild() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    for (const int fd : {to_[0], to_[1], from_[0], from_[1]}) ::close(fd);
  }
  ForkedChild(const ForkedChild&) = delete;
  ForkedChild& operator=(const ForkedChild&) = delete;

  pid_t pid() const { return pid_; }
  void tell(std::int64_t word) const { EXPECT_EQ(::write(to_[1], &word, sizeof word), 8); }
  // What it says next; kGone when it has ended.
  std::int64_t hear() const {
    std::int64_t word = kGone;
    return ::read(from_[0], &word, sizeof word) == sizeof word ? word : kGone;
  }
  bool has_said_something() const {
    pollfd state{from_[0], POLLIN, 0};
    return ::poll(&state, 1, 0) != 0;
  }
  std::int64_t ask(std::int64_t word) const {
    tell(word);
    return hear();
  }
  // Of its first thread: 'S' it sleeps, 'T' it was stopped by a signal, 'D' nothing can wake it.
  void wait_until_it_is(char state) const {
    for (int tries = 0; tries < 20'000; ++tries) {
      const auto stat = parse_proc_stat(read_small_file("/proc/" + std::to_string(pid_) + "/stat"));
      if (!stat || stat->state == state) return;
      const timespec little{0, 200'000};
      ::nanosleep(&little, nullptr);
    }
    FAIL() << "it is never " << state;
  }

private:
  int to_[2] = {-1, -1}, from_[2] = {-1, -1};
  pid_t pid_ = 0;
};

} // namespace heaptape
