// A collector's ear for other processes of its user: `heaptape ps`, `mark -p`, `stop -p` and every question about a
// running program. A thread of its own takes connections and whole requests, and wakes the collector; the collector
// answers between two rounds. Nothing here waits for a client: one that says nothing is dropped, and so is a reply that
// nobody reads.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "collector/control/control_message.h"

namespace heaptape {

class ControlServer {
public:
  using Wake = std::function<void()>;

  // Listens in make_control_folder(). `wake` is called, from another thread, when a request has come.
  static Result<std::unique_ptr<ControlServer>> open(pid_t program, Wake wake);
  // Closes all connections; to a client that asked for the recording's end this means that the tape is finished.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // Whether a client waits for an answer. Cheap enough for every round.
  bool has_requests() const { return waiting_.load(std::memory_order_acquire); }
  // Answers all that wait. Connections that asked to stop stay open.
  void answer(const std::function<ControlReply(const ControlRequest&)>& reply);
  // Takes no more: the recording is over. What waits is refused with this sentence.
  void close(const std::string& sentence);

  const std::string& path() const { return path_; }

private:
  using Clock = std::chrono::steady_clock;
  struct Connection {
    UniqueFd socket;
    Clock::time_point until; // it must have asked by then
  };
  struct Asked {
    UniqueFd socket;
    ControlRequest request;
  };

  ControlServer(UniqueFd listener, std::string path, Wake wake);
  void run();
  void take_connection();
  void take_request(Connection& connection);
  void stop_thread();

  std::string path_;
  UniqueFd listener_;
  UniqueFd stop_; // eventfd
  Wake wake_;
  std::vector<Connection> connections_; // of the thread
  std::mutex mutex_;
  std::vector<Asked> asked_; // under the mutex
  std::atomic<bool> waiting_{false};
  std::vector<UniqueFd> until_end_; // of clients that asked to stop
  std::thread thread_;
};

// Whether the process at the other end of a local socket is one of this user's, or root's.
bool peer_is_allowed(int socket);

} // namespace heaptape
