// Where a recorded process knocks after exec: an abstract socket of the collector's, whose name is in the shared memory (wire::Header::door).
// A thread of its own takes the visitors in and wakes the collector, which decides what becomes of them.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/unique_fd.h"
#include "wire/handshake.h"

namespace heaptape {

// A program that waits to be recorded.
struct Visitor {
  UniqueFd socket;
  pid_t pid = 0;       // here; the kernel's word
  wire::Hello hello{}; // its own
};

class ExecDoor {
public:
  // Null where there can be none; then programs are recorded up to their exec. `wake` is called, from another thread, when somebody came.
  static std::unique_ptr<ExecDoor> open(std::function<void()> wake);
  ~ExecDoor();
  ExecDoor(const ExecDoor&) = delete;
  ExecDoor& operator=(const ExecDoor&) = delete;

  const std::string& name() const { return name_; } // without the NUL in front
  bool has_visitors() const { return waiting_.load(std::memory_order_acquire); }
  std::optional<Visitor> take();
  void put_back(Visitor visitor); // the next take() gives it again
  // Waits for one, at most this long.
  void wait(std::uint64_t most_ms);
  // In a forked child, where the thread is not: nobody shall knock there.
  void close_in_child() { listener_.reset(); }

private:
  ExecDoor(UniqueFd listener, std::string name, std::function<void()> wake);
  void run();
  void let_in();

  std::string name_;
  UniqueFd listener_;
  UniqueFd stop_;     // eventfd
  UniqueFd somebody_; // eventfd
  std::function<void()> wake_;
  std::mutex mutex_;
  std::deque<Visitor> visitors_; // under the mutex
  std::atomic<bool> waiting_{false};
  std::thread thread_;
};

// Tells the visitor that it is not to be recorded.
void send_away(const Visitor& visitor);

} // namespace heaptape
