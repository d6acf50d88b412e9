#include "collector/control/control_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/system_error.h"
#include "collector/control/control_folder.h"

namespace heaptape {

namespace {

constexpr std::size_t kMostConnections = 32;
constexpr auto kPatience = std::chrono::seconds(2);

void send_reply(int socket, const ControlReply& reply) {
  const std::vector<std::byte> bytes = encode_control(reply);
  (void)!::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

} // namespace

bool peer_is_allowed(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == ::geteuid() || peer.uid == 0;
}

Result<std::unique_ptr<ControlServer>> ControlServer::open(pid_t program, Wake wake) {
  const Result<std::string> folder = make_control_folder();
  if (!folder) return folder.error();
  const std::string path = folder.value() + "/" + control_socket_name(program, ::getpid());
  const auto address = socket_address(path);
  if (!address) return Error{ErrorCode::Unsupported, path + " is too long for the path of a socket"};
  UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ::unlink(path.c_str()); // of a collector long gone that had our pid
  if (!listener || ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
      ::listen(listener.get(), static_cast<int>(kMostConnections)) != 0) {
    return Error{ErrorCode::Io, "cannot listen on " + path + ": " + system_message(errno)};
  }
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(listener), path, std::move(wake)));
}

ControlServer::ControlServer(UniqueFd listener, std::string path, Wake wake)
    : path_(std::move(path)), listener_(std::move(listener)), stop_(::eventfd(0, EFD_CLOEXEC)), wake_(std::move(wake)),
      thread_([this] { run(); }) {}

ControlServer::~ControlServer() { close("the recording is over"); }

void ControlServer::stop_thread() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void ControlServer::run() {
  while (true) {
    std::vector<pollfd> fds{{stop_.get(), POLLIN, 0},
                            {connections_.size() < kMostConnections ? listener_.get() : -1, POLLIN, 0}};
    for (const Connection& connection : connections_) fds.push_back({connection.socket.get(), POLLIN, 0});
    const int timeout_ms = connections_.empty() ? -1 : 200;
    if (::poll(fds.data(), fds.size(), timeout_ms) < 0 && errno != EINTR) return;
    if (fds[0].revents != 0) return;
    const Clock::time_point now = Clock::now();
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      if (fds[i + 2].revents != 0)
        take_request(connections_[i]);
      else if (now > connections_[i].until)
        connections_[i].socket.reset();
    }
    std::erase_if(connections_, [](const Connection& connection) { return !connection.socket; });
    if (fds[1].revents != 0) take_connection();
  }
}

void ControlServer::take_connection() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket || !peer_is_allowed(socket.get())) return;
  connections_.push_back({std::move(socket), Clock::now() + kPatience});
}

// Takes the socket, too.
void ControlServer::take_request(Connection& connection) {
  std::array<std::byte, kMostControlBytes> bytes;
  const ssize_t size = ::recv(connection.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  UniqueFd socket = std::move(connection.socket);
  if (size <= 0) return;
  std::optional<ControlRequest> request = parse_control_request(std::span(bytes).first(static_cast<std::size_t>(size)));
  if (!request) {
    return send_reply(socket.get(),
                      {"the collector does not understand the request: it is a different version of heaptape", {}});
  }
  {
    const std::scoped_lock lock(mutex_);
    asked_.push_back({std::move(socket), std::move(*request)});
  }
  waiting_.store(true, std::memory_order_release);
  wake_();
}

void ControlServer::answer(const std::function<ControlReply(const ControlRequest&)>& reply) {
  std::vector<Asked> asked;
  {
    const std::scoped_lock lock(mutex_);
    asked.swap(asked_);
    waiting_.store(false, std::memory_order_relaxed);
  }
  for (Asked& one : asked) {
    send_reply(one.socket.get(), reply(one.request));
    if (one.request.ask == ControlAsk::Stop) until_end_.push_back(std::move(one.socket));
  }
}

void ControlServer::close(const std::string& sentence) {
  if (!listener_) return;
  ::unlink(path_.c_str());
  stop_thread();
  listener_.reset();
  connections_.clear();
  answer([&](const ControlRequest&) { return ControlReply{sentence, {}}; });
}

} // namespace heaptape
