#include "collector/recording/listener.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <set>

#include "base/system_error.h"
#include "base/unique_fd.h"
#include "collector/control/control_folder.h"
#include "collector/control/control_server.h"
#include "collector/recording/collector_process.h"

namespace heaptape {

namespace {

std::atomic<bool> g_stop{false}; // of the listener, and of each worker

void on_stop(int) { g_stop.store(true, std::memory_order_relaxed); }

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

Error cannot_listen(const std::string& path) {
  return {ErrorCode::Io, "cannot listen on " + path + ": " + system_message(errno)};
}

// Errors speak of `path`.
Result<UniqueFd> listen_under(const std::string& name, const std::string& path) {
  const auto address = socket_address(name);
  if (!address) return Error{ErrorCode::Usage, "'" + path + "' is too long for the path of a socket"};
  UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return cannot_listen(path);
  const mode_t before = ::umask(0177);
  const bool bound = ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0;
  ::umask(before);
  if (!bound || ::listen(listener.get(), 128) != 0) return cannot_listen(path);
  return listener;
}

// A socket that was left behind is removed; one in use, or another file, is an error.
Result<> clear(const std::string& path) {
  const auto address = socket_address(path);
  if (!address) return Error{ErrorCode::Usage, "'" + path + "' is too long for the path of a socket"};
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) return Unit{};
  if (!S_ISSOCK(facts.st_mode)) return Error{ErrorCode::Exists, path + " exists and is not a socket"};
  const UniqueFd probe(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0) {
    return Error{ErrorCode::Exists, "another process already listens on " + path};
  }
  if (errno == ECONNREFUSED) ::unlink(path.c_str());
  return Unit{};
}

// The socket gets its name when it already listens: who sees the name can connect, and a second collector never takes a
// socket that is about to listen for one that was left behind.
Result<UniqueFd> listen_at(const std::string& path) {
  // Two that start at once over a socket that was left behind would take it from each other: one after the other.
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const UniqueFd turn(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int tries = 0; turn && tries < 100 && ::flock(turn.get(), LOCK_EX | LOCK_NB) != 0; ++tries) ::usleep(10'000);
  if (const Result<> cleared = clear(path); !cleared) return cleared.error();
  const std::string first_name = path + "." + std::to_string(::getpid());
  if (!socket_address(first_name)) return listen_under(path, path); // no room for it
  Result<UniqueFd> listener = listen_under(first_name, path);
  if (!listener) return listener;
  if (::renameat2(AT_FDCWD, first_name.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return listener;
  const int reason = errno;
  ::unlink(first_name.c_str());
  if (reason == EEXIST) return Error{ErrorCode::Exists, "another process already listens on " + path};
  errno = reason;
  return reason == EINVAL ? listen_under(path, path) : cannot_listen(path); // a file system that cannot do this
}

class Listener {
public:
  Listener(UniqueFd socket, const CollectorOptions& options, const std::function<void(const std::string&)>& tell)
      : socket_(std::move(socket)), options_(options), tell_(tell) {
    options_.should_stop = [] { return g_stop.load(std::memory_order_relaxed); };
  }

  void run() {
    // Blocked except while we wait, so that none arrives between the check and the wait.
    sigset_t blocked, while_waiting;
    ::sigemptyset(&blocked);
    for (const int signal : {SIGTERM, SIGINT, SIGCHLD}) ::sigaddset(&blocked, signal);
    ::sigprocmask(SIG_BLOCK, &blocked, &while_waiting);
    handle(SIGTERM, on_stop);
    handle(SIGINT, on_stop);
    handle(SIGCHLD, [](int) {});
    while (!g_stop) {
      reap();
      pollfd ready{socket_.get(), POLLIN, 0};
      if (::ppoll(&ready, 1, nullptr, &while_waiting) > 0) take_program();
    }
    // Repeatedly: a child that is still becoming a collector misses the first one.
    while (reap(), !workers_.empty()) {
      for (const pid_t worker : workers_) ::kill(worker, SIGTERM);
      const timespec moment{0, 50'000'000};
      ::ppoll(nullptr, 0, &moment, &while_waiting);
    }
  }

private:
  void reap() {
    pid_t ended = 0;
    while ((ended = ::waitpid(-1, nullptr, WNOHANG)) > 0) workers_.erase(ended);
    if (ended < 0 && errno == ECHILD) workers_.clear();
  }

  void take_program() {
    UniqueFd program(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!program || !peer_is_allowed(program.get())) return;
    ucred peer{};
    socklen_t size = sizeof peer;
    ::getsockopt(program.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size);
    const timeval patience{10, 0}; // for a client that connects and sends nothing
    ::setsockopt(program.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const pid_t worker = ::fork();
    if (worker < 0)
      return tell_("a program connected, but no process could be started for it: " + system_message(errno));
    if (worker > 0) {
      workers_.insert(worker);
      return;
    }
    socket_.reset();
    handle(SIGCHLD, SIG_DFL);
    // The program knows its pid in its own namespace; the kernel tells us the one in ours.
    ::_exit(
        collect_for(program.release(), options_, {.program = peer.pid, .prepared = [] { handle(SIGTERM, on_stop); }}));
  }

  UniqueFd socket_;
  CollectorOptions options_;
  const std::function<void(const std::string&)>& tell_;
  std::set<pid_t> workers_;
};

} // namespace

Result<> listen_for_programs(const std::string& socket, const CollectorOptions& options,
                             const std::function<void(const std::string&)>& tell) {
  Result<UniqueFd> listening = listen_at(socket);
  if (!listening) return listening.error();
  tell("listening on " + socket + "; start programs with HEAPTAPE_COLLECTOR=unix:" + socket);
  Listener(std::move(listening).value(), options, tell).run();
  ::unlink(socket.c_str());
  return Unit{};
}

} // namespace heaptape
