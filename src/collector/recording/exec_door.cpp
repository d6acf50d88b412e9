#include "collector/recording/exec_door.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

#include "wire/layout.h"

namespace heaptape {

namespace {

constexpr std::size_t kMostVisitors = 64;

// Nobody can guess it, so nobody waits there before us.
std::string random_name() {
  std::uint64_t number[2] = {};
  if (::getrandom(number, sizeof number, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof number))
    number[0] = static_cast<std::uint64_t>(::getpid());
  char text[wire::kDoorBytes];
  std::snprintf(text, sizeof text, "heaptape-%016llx%016llx", static_cast<unsigned long long>(number[0]),
                static_cast<unsigned long long>(number[1]));
  return text;
}

// The program may have given up rights that root's collector has.
bool may_come(const ucred& peer) { return peer.uid == ::geteuid() || peer.uid == 0 || ::geteuid() == 0; }

} // namespace

std::unique_ptr<ExecDoor> ExecDoor::open(std::function<void()> wake) {
  UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const std::string name = random_name();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (!listener || ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0 ||
      ::listen(listener.get(), static_cast<int>(kMostVisitors)) != 0)
    return nullptr;
  return std::unique_ptr<ExecDoor>(new ExecDoor(std::move(listener), name, std::move(wake)));
}

ExecDoor::ExecDoor(UniqueFd listener, std::string name, std::function<void()> wake)
    : name_(std::move(name)), listener_(std::move(listener)), stop_(::eventfd(0, EFD_CLOEXEC)),
      somebody_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), wake_(std::move(wake)), thread_([this] { run(); }) {}

ExecDoor::~ExecDoor() {
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
  for (const Visitor& visitor : visitors_) send_away(visitor);
}

void ExecDoor::run() {
  while (true) {
    pollfd fds[2] = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0) continue;
    if (fds[0].revents != 0) return;
    if (fds[1].revents != 0) let_in();
  }
}

void ExecDoor::let_in() {
  Visitor visitor{.socket = UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC))};
  ucred peer{};
  socklen_t size = sizeof peer;
  if (!visitor.socket || ::getsockopt(visitor.socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      !may_come(peer))
    return;
  visitor.pid = peer.pid;
  // It has said it when it knocked; one that says nothing does not hold up the others for long.
  const timeval patience{1, 0};
  ::setsockopt(visitor.socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const ssize_t got = ::recv(visitor.socket.get(), &visitor.hello, sizeof visitor.hello, 0);
  if (got != static_cast<ssize_t>(sizeof visitor.hello) || visitor.hello.magic != wire::kHelloMagic ||
      visitor.hello.version != wire::kHelloVersion)
    return send_away(visitor);
  {
    const std::scoped_lock lock(mutex_);
    if (visitors_.size() >= kMostVisitors) return send_away(visitor);
    visitors_.push_back(std::move(visitor));
    waiting_.store(true, std::memory_order_release);
  }
  const std::uint64_t one = 1;
  (void)!::write(somebody_.get(), &one, sizeof one);
  wake_();
}

std::optional<Visitor> ExecDoor::take() {
  const std::scoped_lock lock(mutex_);
  if (visitors_.empty()) return std::nullopt;
  Visitor visitor = std::move(visitors_.front());
  visitors_.pop_front();
  waiting_.store(!visitors_.empty(), std::memory_order_release);
  std::uint64_t count = 0;
  if (visitors_.empty()) (void)!::read(somebody_.get(), &count, sizeof count);
  return visitor;
}

void ExecDoor::put_back(Visitor visitor) {
  const std::scoped_lock lock(mutex_);
  visitors_.push_front(std::move(visitor));
  waiting_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  (void)!::write(somebody_.get(), &one, sizeof one);
}

void ExecDoor::wait(std::uint64_t most_ms) {
  pollfd fd{somebody_.get(), POLLIN, 0};
  (void)::poll(&fd, 1, static_cast<int>(most_ms));
}

void send_away(const Visitor& visitor) {
  wire::HelloReply reply{};
  reply.status = wire::kNotWanted;
  (void)!::send(visitor.socket.get(), &reply, sizeof reply, MSG_NOSIGNAL | MSG_DONTWAIT);
}

} // namespace heaptape
