// Keeps SIGINT away from this thread until it goes out of scope. One that came meanwhile arrives then. May be nested.
#pragma once

#include <signal.h>

namespace heaptape::cli {

class WithoutInterrupts {
public:
  WithoutInterrupts() {
    sigset_t interrupt;
    ::sigemptyset(&interrupt);
    ::sigaddset(&interrupt, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &interrupt, &before_);
  }
  WithoutInterrupts(const WithoutInterrupts&) = delete;
  WithoutInterrupts& operator=(const WithoutInterrupts&) = delete;
  ~WithoutInterrupts() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
  sigset_t before_{};
};

} // namespace heaptape::cli
