#include "collector/contents/repeated_calls.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "collector/observe/proc_files.h"
#include "collector/rings/tick_clock.h"

namespace heaptape {

namespace {

using R = ThreadState;

constexpr std::int64_t kRestartUnlessHandled = -514; // ERESTARTNOHAND of the kernel
constexpr std::size_t kMostThreads = 10'000;
constexpr std::uint64_t kNsPerMs = 1'000'000;

enum class Limit : std::uint8_t {
  NotRepeated,
  None,
  Milliseconds,     // a number, in R10
  TimeInR10,        // a timespec
  TimeInR8,         // likewise
  TimeInRdx,        // likewise
  SocketMayReceive, // as it was set for the socket
  SocketMaySend,    // likewise
};

Limit limit_of(std::uint64_t call) {
  switch (call) {
  case SYS_epoll_wait:
  case SYS_epoll_pwait: return Limit::Milliseconds;
  case SYS_epoll_pwait2:
  case SYS_semtimedop: return Limit::TimeInR10;
  case SYS_io_getevents:
  case SYS_io_pgetevents: return Limit::TimeInR8;
  case SYS_rt_sigtimedwait: return Limit::TimeInRdx;
  case SYS_semop:
  case SYS_io_uring_enter: return Limit::None;
  case SYS_read: // inotify, too
  case SYS_readv:
  case SYS_recvfrom:
  case SYS_recvmsg:
  case SYS_recvmmsg:
  case SYS_accept:
  case SYS_accept4: return Limit::SocketMayReceive;
  case SYS_write:
  case SYS_writev:
  case SYS_sendto:
  case SYS_sendmsg:
  case SYS_sendmmsg: return Limit::SocketMaySend;
  default: return Limit::NotRepeated;
  }
}

template <class Time>
std::optional<std::uint64_t> nanoseconds(const Time& seconds, std::int64_t rest_ns) {
  if (seconds < 0 || rest_ns < 0 || seconds > 1'000'000'000) return std::nullopt;
  return static_cast<std::uint64_t>(seconds) * 1'000'000'000 + static_cast<std::uint64_t>(rest_ns);
}

std::optional<std::uint64_t> time_at(pid_t tid, std::uint64_t address) {
  timespec time{};
  iovec to{&time, sizeof time}, from{reinterpret_cast<void*>(address), sizeof time};
  if (address == 0 || ::process_vm_readv(tid, &to, 1, &from, 1, 0) != sizeof time) return std::nullopt;
  return nanoseconds(time.tv_sec, time.tv_nsec);
}

std::optional<std::uint64_t> socket_time(pid_t pid, std::uint64_t descriptor, int option) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return std::nullopt;
  const UniqueFd socket(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), descriptor, 0)));
  timeval time{};
  socklen_t size = sizeof time;
  if (!socket || ::getsockopt(socket.get(), SOL_SOCKET, option, &time, &size) != 0) return std::nullopt;
  const auto limit = nanoseconds(time.tv_sec, std::int64_t{time.tv_usec} * 1000);
  return limit == std::uint64_t{0} ? std::nullopt : limit;
}

// None: it waits for ever, or nobody knows how long.
std::optional<std::uint64_t> time_limit(pid_t pid, pid_t tid, Limit limit, const RepeatedCalls::Registers& registers) {
  switch (limit) {
  case Limit::Milliseconds: {
    const auto ms = static_cast<std::int32_t>(registers[R::R10]);
    if (ms < 0) return std::nullopt;
    return static_cast<std::uint64_t>(ms) * kNsPerMs;
  }
  case Limit::TimeInR10: return time_at(tid, registers[R::R10]);
  case Limit::TimeInR8: return time_at(tid, registers[R::R8]);
  case Limit::TimeInRdx: return time_at(tid, registers[R::Rdx]);
  case Limit::SocketMayReceive: return socket_time(pid, registers[R::Rdi], SO_RCVTIMEO);
  case Limit::SocketMaySend: return socket_time(pid, registers[R::Rdi], SO_SNDTIMEO);
  case Limit::NotRepeated:
  case Limit::None: break;
  }
  return std::nullopt;
}

// What the call gives when its time is over.
std::int64_t result_after(std::uint64_t call) {
  switch (call) {
  case SYS_epoll_wait:
  case SYS_epoll_pwait:
  case SYS_epoll_pwait2:
  case SYS_io_getevents:
  case SYS_io_pgetevents: return 0;
  default: return -EAGAIN;
  }
}

// It has gone to rest this often, stops among them.
std::uint64_t switches_to_rest(pid_t pid, pid_t tid) {
  const std::string text = read_small_file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/status");
  constexpr std::string_view kName = "\nvoluntary_ctxt_switches:";
  const std::size_t at = text.find(kName);
  if (at == std::string::npos) return 0;
  const std::size_t digit = text.find_first_of("0123456789", at + kName.size());
  std::uint64_t switches = 0;
  if (digit != std::string::npos) std::from_chars(text.data() + digit, text.data() + text.size(), switches);
  return switches;
}

} // namespace

// The same call was resumed, rested once, and was stopped; another one with the same arguments would have rested once more.
bool RepeatedCalls::is_the_same(const Begun& begun, const Registers& registers, std::uint64_t switches,
                                unsigned stops) const {
  constexpr std::array kCompared{R::OrigRax, R::Rip, R::Rsp, R::Rdi, R::Rsi, R::Rdx, R::R10, R::R8};
  return switches <= begun.switches + 1 + stops &&
         std::ranges::all_of(kCompared, [&](auto place) { return begun.registers[place] == registers[place]; });
}

bool RepeatedCalls::repeat(pid_t pid, pid_t tid, unsigned stops, Registers& registers) {
  const std::uint64_t call = registers[R::OrigRax];
  const Limit limit = limit_of(call);
  if (limit == Limit::NotRepeated || static_cast<std::int64_t>(registers[R::Rax]) != -EINTR) {
    begun_.erase(tid);
    return false;
  }
  const std::uint64_t again = static_cast<std::uint64_t>(kRestartUnlessHandled);
  const std::optional<std::uint64_t> limit_ns = time_limit(pid, tid, limit, registers);
  if (!limit_ns) {
    begun_.erase(tid);
    registers[R::Rax] = again;
    return true;
  }
  const std::uint64_t now = monotonic_ns(), switches = switches_to_rest(pid, tid);
  if (begun_.size() > kMostThreads) begun_.clear();
  const auto [found, is_new] = begun_.try_emplace(tid);
  Begun& begun = found->second;
  if (is_new || !is_the_same(begun, registers, switches, stops)) {
    begun.first_stop_ns = now;
    begun.limit_ns = *limit_ns;
  }
  const std::uint64_t passed = now - begun.first_stop_ns;
  if (passed >= begun.limit_ns && begun.first_stop_ns != now) {
    registers[R::Rax] = static_cast<std::uint64_t>(result_after(call));
    begun_.erase(found);
    return true;
  }
  registers[R::Rax] = again;
  if (limit == Limit::Milliseconds) registers[R::R10] = (begun.limit_ns - passed + kNsPerMs - 1) / kNsPerMs;
  begun.registers = registers;
  begun.switches = switches;
  return true;
}

} // namespace heaptape
