#include "collector/observe/program_end.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "collector/observe/proc_files.h"

namespace heaptape {

ProgramEnd::ProgramEnd(UniqueFd link, std::function<void()> wake)
    : link_(std::move(link)), wake_(std::move(wake)), stop_(::eventfd(0, EFD_CLOEXEC)) {
  launcher_.store(static_cast<bool>(link_), std::memory_order_release);
}

ProgramEnd::~ProgramEnd() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void ProgramEnd::watch(pid_t program) {
  program_.store(program, std::memory_order_release);
  if (program > 0 && !pidfd_) {
    pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, program, 0)));
    if (!pidfd_ && errno == ESRCH) gone_.store(true, std::memory_order_release);
  }
  if (thread_.joinable()) {
    // The thread began without a pid and sleeps without the pidfd; let it look again.
    const std::uint64_t one = 1;
    (void)!::write(stop_.get(), &one, sizeof one);
    thread_.join();
    std::uint64_t count = 0;
    (void)!::read(stop_.get(), &count, sizeof count);
  }
  thread_ = std::thread([this] { run(); });
}

void ProgramEnd::run() {
  while (true) {
    pollfd fds[3] = {{stop_.get(), POLLIN, 0},
                     {launcher_.load(std::memory_order_acquire) ? link_.get() : -1, POLLIN, 0},
                     {gone_.load(std::memory_order_acquire) ? -1 : pidfd_.get(), POLLIN, 0}};
    if (::poll(fds, 3, -1) < 0) continue;
    if (fds[0].revents != 0) return;
    if (fds[1].revents != 0) hear_launcher();
    if (fds[2].revents != 0) {
      if (!launcher_.load(std::memory_order_acquire)) ask_kernel();
      gone_.store(true, std::memory_order_release);
    }
    wake_();
  }
}

namespace {

// What <linux/pidfd.h> of Linux 6.15 has for PIDFD_GET_INFO; older headers lack some of it.
struct PidfdInfo {
  std::uint64_t mask;
  std::uint64_t cgroup;
  std::uint32_t ids[11];
  std::int32_t wait_status;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr std::uint64_t kInfoExit = 1 << 3;
constexpr unsigned long kGetInfo = _IOWR(0xFF, 11, PidfdInfo);

std::optional<int> kernels_word(pid_t program, int pidfd) {
  // Not reaped yet: the process is still visible. Once reaped its pidfd knows, on newer kernels. For a moment in
  // between neither does.
  for (int tries = 0; tries < 20; ++tries) {
    const auto stat = parse_proc_stat(read_small_file("/proc/" + std::to_string(program) + "/stat"));
    if (stat && stat->state == 'Z') return stat->wait_status;
    PidfdInfo info{};
    info.mask = kInfoExit;
    if (::ioctl(pidfd, kGetInfo, &info) == 0 && (info.mask & kInfoExit) != 0) return info.wait_status;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return std::nullopt;
}

} // namespace

void ProgramEnd::ask_kernel() {
  if (const auto status = kernels_word(program_.load(std::memory_order_acquire), pidfd_.get())) {
    status_.store(*status & 0xffff, std::memory_order_release);
  }
}

void ProgramEnd::hear_launcher() {
  LinkMessage message;
  const ssize_t size = ::recv(link_.get(), &message, sizeof message, 0);
  if (size != static_cast<ssize_t>(sizeof message)) {
    launcher_.store(false, std::memory_order_release); // the launcher is gone; the program may go on
    return;
  }
  if (message.kind == LinkMessage::Kind::Cancel) cancelled_.store(true, std::memory_order_release);
  if (message.kind == LinkMessage::Kind::ProgramEnded) {
    status_.store(message.number, std::memory_order_release);
  }
}

bool ProgramEnd::gone() const {
  if (gone_.load(std::memory_order_acquire) || status_.load(std::memory_order_acquire) >= 0) return true;
  if (pidfd_) return false;
  const pid_t program = program_.load(std::memory_order_acquire);
  return program > 0 && ::kill(program, 0) != 0 && errno == ESRCH;
}

// By the pidfd: the pid may be another's by now.
void ProgramEnd::send_signal(int number) const {
  const pid_t program = program_.load(std::memory_order_acquire);
  if (pidfd_)
    ::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0);
  else if (program > 0)
    ::kill(program, number);
}

std::optional<int> ProgramEnd::wait_status() const {
  const std::int64_t status = status_.load(std::memory_order_acquire);
  if (status < 0) return std::nullopt;
  return static_cast<int>(status);
}

void ProgramEnd::await_status(std::uint64_t most_ms) const {
  const auto may_come = [this] { return has_launcher() || (pidfd_ && !gone_.load(std::memory_order_acquire)); };
  for (std::uint64_t waited = 0; waited < most_ms * 10 && may_come() && !wait_status(); ++waited) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

} // namespace heaptape
