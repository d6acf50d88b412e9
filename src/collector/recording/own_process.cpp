#include "collector/recording/own_process.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <new>
#include <string>

namespace heaptape {

namespace {

// Those of the program are not meant for us. What only root may raise above the hard limit stays there.
void raise_own_limits() {
  for (const auto resource : {RLIMIT_CPU, RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NOFILE}) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0) continue;
    // Of descriptors nobody may have any number.
    const rlim_t most = resource != RLIMIT_NOFILE ? RLIM_INFINITY : std::max<rlim_t>(limit.rlim_max, 1024);
    const rlimit raised{most, most}, hard{limit.rlim_max, limit.rlim_max};
    if (::setrlimit(resource, &raised) != 0) ::setrlimit(resource, &hard);
  }
}

} // namespace

// A robust mutex shared between processes; the kernel marks its first word when we die. The thread must never give it
// up.
void hold_life_mutex(wire::Header& header) {
  static_assert(sizeof(pthread_mutex_t) <= sizeof header.collector_mutex);
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  auto* mutex = new (static_cast<void*>(header.collector_mutex)) pthread_mutex_t;
  ::pthread_mutex_init(mutex, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
  ::pthread_mutex_lock(mutex);
}

std::string limit_on_memory(pid_t process) {
  const auto is_limited = [&](__rlimit_resource resource) {
    rlimit limit{};
    return ::prlimit(process, resource, nullptr, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  };
  const bool space = is_limited(RLIMIT_AS), data = is_limited(RLIMIT_DATA);
  if (space && data) return "the limits on address space and data (ulimit -v, ulimit -d)";
  if (space) return "the limit on address space (ulimit -v)";
  return data ? "the limit on data (ulimit -d)" : "";
}

namespace {

// A thread that cannot be made ends the collector. Its stack counts as a whole, though hardly any of it is used.
Result<> check_memory() {
  const std::string limit = limit_on_memory(0);
  if (limit.empty()) return Unit{};
  constexpr std::size_t kStack = std::size_t{1} << 20, kNeeded = std::size_t{16} << 20;
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStack);
  ::pthread_setattr_default_np(&attributes);
  ::pthread_attr_destroy(&attributes);
  void* const trial = ::mmap(nullptr, kNeeded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (trial == MAP_FAILED)
    return Error{ErrorCode::Exhausted, "too little memory is left for the collector under " + limit};
  ::munmap(trial, kNeeded);
  return Unit{};
}

} // namespace

Result<> check_limits() {
  constexpr rlim_t kNeeded = 32; // memory, tape, sockets and what watches the program; the files of modules come on top
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kNeeded) return check_memory();
  return Error{ErrorCode::Exhausted, "the limit on open files (ulimit -n) is " + std::to_string(limit.rlim_cur) +
                                         ", and the collector needs " + std::to_string(kNeeded)};
}

std::uint64_t cpu_seconds_allowed() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_max == RLIM_INFINITY ? 0 : limit.rlim_max;
}

void prepare_collector_process(const SharedMemory& memory, int keep) {
  ::setsid();
  for (int signal : {SIGINT, SIGHUP, SIGTERM, SIGQUIT, SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2, SIGALRM}) {
    ::signal(signal, SIG_IGN);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_NAME, "heaptape-coll");
  ::prctl(PR_SET_TIMERSLACK, 1000); // ns; the shortest rests would double otherwise

  // The program's pipes must end with the program, not with us.
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere >= 0) {
    ::dup2(nowhere, STDIN_FILENO);
    ::dup2(nowhere, STDOUT_FILENO);
  }
  int kept[2] = {std::min(keep, memory.fd()), std::max(keep, memory.fd())};
  int from = 3;
  for (int fd : kept) {
    if (fd < from) continue;
    if (fd > from) ::syscall(SYS_close_range, from, fd - 1, 0);
    from = fd + 1;
  }
  ::syscall(SYS_close_range, from, UINT_MAX, 0);

  raise_own_limits();
  hold_life_mutex(memory.header());
}

// The kernel kills a process that reaches its hard limit; before that the tape wants its end.
bool cpu_time_runs_out() {
  static const std::uint64_t s_allowed = cpu_seconds_allowed();
  if (s_allowed == 0) return false;
  constexpr std::uint64_t kMs = 1'000'000, kToFinish = 300 * kMs;
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  const auto used_ns = static_cast<std::uint64_t>(used.tv_sec) * 1'000 * kMs + static_cast<std::uint64_t>(used.tv_nsec);
  return used_ns + kToFinish >= s_allowed * 1'000 * kMs;
}

} // namespace heaptape
