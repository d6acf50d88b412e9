// Notices the program's end: a small thread that waits on a pidfd and on the launcher's link, and wakes the collector.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>

#include "base/unique_fd.h"

namespace heaptape {

// The launcher to the collector, and back.
struct LinkMessage {
  enum class Kind : std::uint32_t { OpenTape = 1, TapeOpened = 2, ProgramEnded = 3, Cancel = 4 };
  Kind kind = Kind::Cancel;
  std::int32_t number = 0; // OpenTape: pid; TapeOpened: 0 or an ErrorCode + 1; ProgramEnded: wait status
  char text[1024] = {};    // OpenTape: program name; TapeOpened: path or sentence
};

class ProgramEnd {
public:
  // `link` is the launcher's socket, or none. `wake` is called, from another thread, when something has changed.
  ProgramEnd(UniqueFd link, std::function<void()> wake);
  ~ProgramEnd();
  ProgramEnd(const ProgramEnd&) = delete;
  ProgramEnd& operator=(const ProgramEnd&) = delete;

  // Before watch(): a pidfd of the program that was opened while it was sure to be there.
  void adopt(UniqueFd pidfd) { pidfd_ = std::move(pidfd); }
  // Starts watching; once. Without a pidfd (old kernel) gone() asks the kernel itself.
  void watch(pid_t program);
  bool watches(pid_t program) const { return program != 0 && program_.load(std::memory_order_acquire) == program; }

  // The program, all threads of it, is gone.
  bool gone() const;
  void send_signal(int number) const;
  // What the launcher reported, or the kernel, as far as it reports to a process that is not the parent.
  std::optional<int> wait_status() const;
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // Waits a little for the launcher's word, or the kernel's.
  void await_status(std::uint64_t most_ms) const;
  // There is a launcher that may still say how the program ended.
  bool has_launcher() const { return launcher_.load(std::memory_order_acquire); }

private:
  void run();
  void hear_launcher();
  void ask_kernel();

  UniqueFd link_;
  std::function<void()> wake_;
  UniqueFd pidfd_;
  UniqueFd stop_; // eventfd
  std::atomic<pid_t> program_{0};
  std::atomic<bool> gone_{false};
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> launcher_{false};
  std::atomic<std::int64_t> status_{-1};
  std::thread thread_;
};

} // namespace heaptape
