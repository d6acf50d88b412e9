#include "recorder/hooks/attach.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cstddef>
#include <cstring>

#include "recorder/core/machine.h"
#include "recorder/core/slots.h"
#include "wire/handshake.h"
#include "wire/layout.h"

namespace heaptape::recorder {

namespace {

bool failed(long result) noexcept { return result < 0 && result > -4096; }

void refuse(Attached& attached, const char* sentence) noexcept {
  attached.say_so = true;
  std::size_t i = 0;
  for (; sentence[i] != 0 && i + 1 < sizeof attached.message; ++i) attached.message[i] = sentence[i];
  attached.message[i] = 0;
}

long map(int fd, std::uint64_t bytes, std::uint64_t offset = 0) noexcept {
  const long memory = system_call(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_NORESERVE, fd, static_cast<long>(offset));
  if (failed(memory)) return memory;
  // Not for children, who must not write to it, and not for core files, which it would bloat.
  (void)system_call(SYS_madvise, memory, static_cast<long>(bytes), MADV_DONTFORK);
  (void)system_call(SYS_madvise, memory, static_cast<long>(bytes), MADV_DONTDUMP);
  return memory;
}

// Maps the rings of `slots` slots and all before them, and the first scratch. False: there is no address space for so much.
bool map_slots(int fd, const wire::Config& config, std::uint32_t slots, Attached& attached) noexcept {
  const std::uint64_t bytes = config.rings + wire::ring_offset(slots, config.ring_records);
  const long memory = map(fd, bytes);
  if (failed(memory)) return false;
  const std::uint32_t first = slots < kSlotsPerPiece ? slots : kSlotsPerPiece;
  const long scratch = map(fd, piece_bytes(first), config.scratch);
  if (failed(scratch)) {
    (void)system_call(SYS_munmap, memory, static_cast<long>(bytes));
    return false;
  }
  attached.memory = reinterpret_cast<std::uint8_t*>(memory);
  attached.scratch = reinterpret_cast<std::uint8_t*>(scratch);
  attached.scratch_slots = first;
  attached.bytes = bytes + piece_bytes(first) + wire::kPage;
  const long children =
      system_call(SYS_mmap, 0, wire::kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<long>(config.children));
  if (!failed(children)) attached.children = reinterpret_cast<wire::Children*>(children);
  reinterpret_cast<wire::Header*>(memory)->usable_slots.store(slots, std::memory_order_relaxed);
  return true;
}

// Maps all of it, or as many slots as there is address space for.
void map_memory(int fd, Attached& attached) noexcept {
  const long first = map(fd, wire::kPage);
  if (failed(first)) return refuse(attached, "the shared memory cannot be mapped");
  auto* header = reinterpret_cast<wire::Header*>(first);
  const wire::Config config = header->config;
  const bool fits = header->magic == wire::kMagic && header->version == wire::kVersion;
  bool mapped = false;
  for (std::uint32_t slots = config.slot_count; fits && !mapped && slots >= 4; slots /= 2)
    mapped = map_slots(fd, config, slots, attached);
  if (fits && !mapped) note_no_memory(*header);
  (void)system_call(SYS_munmap, first, wire::kPage);
  if (!fits)
    return refuse(attached, "libheaptape.so and heaptape are of different versions; install both from one build");
  if (!mapped) refuse(attached, no_memory_sentence());
}

// Receives the collector's answer and the memory's descriptor with it.
void receive_memory(int socket, Attached& attached) noexcept {
  wire::HelloReply reply{};
  iovec bytes{&reply, sizeof reply};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const long size = system_call(SYS_recvmsg, socket, as_long(&message), MSG_CMSG_CLOEXEC);
  if (size != static_cast<long>(sizeof reply)) return refuse(attached, "the collector did not start");
  if (reply.status == wire::kNotWanted) {
    attached.not_wanted = true;
    return;
  }
  if (reply.status != 0) {
    reply.message[sizeof reply.message - 1] = 0;
    return refuse(attached, reply.message);
  }
  const cmsghdr* rights = CMSG_FIRSTHDR(&message);
  if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return refuse(attached, "the collector sent no memory");
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
  map_memory(fd, attached);
  (void)system_call(SYS_close, fd);
}

void introduce(int socket, const Origin& origin, Attached& attached) noexcept {
  const timeval patience{10, 0};
  (void)system_call(SYS_setsockopt, socket, SOL_SOCKET, SO_RCVTIMEO, as_long(&patience), sizeof patience);
  wire::Hello hello{};
  hello.magic = wire::kHelloMagic;
  hello.version = wire::kHelloVersion;
  hello.pid = static_cast<std::uint32_t>(system_call(SYS_getpid));
  hello.started_by = origin.started_by;
  hello.parent = origin.parent;
  hello.started_ns = origin.started_ns;
  if (const std::size_t size = std::strlen(origin.parent_tape); size < sizeof hello.parent_tape)
    std::memcpy(hello.parent_tape, origin.parent_tape, size);
  (void)system_call(SYS_sendto, socket, as_long(&hello), sizeof hello, MSG_NOSIGNAL, 0, 0);
  receive_memory(socket, attached);
}

// Connects to the address and gives the socket; a negative result is -errno.
int connect_to(const sockaddr_un& address, std::size_t bytes) noexcept {
  const auto socket = static_cast<int>(system_call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (failed(socket)) return socket;
  const long result = system_call(SYS_connect, socket, as_long(&address), static_cast<long>(bytes));
  if (!failed(result)) return socket;
  (void)system_call(SYS_close, socket);
  return static_cast<int>(result);
}

// A collector that serves many programs: `heaptape collect --listen`.
void attach_listening(const char* path, const Origin& origin, Attached& attached) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t size = std::strlen(path);
  if (size == 0 || size >= sizeof address.sun_path) return refuse(attached, "HEAPTAPE_COLLECTOR=unix: names no socket");
  std::memcpy(address.sun_path, path, size);
  const int socket = connect_to(address, sizeof address);
  if (failed(socket))
    return refuse(attached, "nothing listens at HEAPTAPE_COLLECTOR's socket; start 'heaptape collect --listen SOCKET'");
  introduce(socket, origin, attached);
  (void)system_call(SYS_close, socket);
}

// In the collector-to-be, sharing memory with the program: only system calls, and none of the program's descriptors.
[[noreturn]] void become_collector(int socket, const char* path, char** environment) noexcept {
  constexpr int kSocket = 3;
  const long null = system_call(SYS_open, as_long("/dev/null"), O_RDWR);
  (void)system_call(SYS_dup2, null, 0);
  (void)system_call(SYS_dup2, null, 1);
  // A terminal or a file may be written to; a pipe would be held open for whoever waits for its end.
  struct stat facts {};
  if (failed(system_call(SYS_fstat, 2, as_long(&facts))) || !(S_ISCHR(facts.st_mode) || S_ISREG(facts.st_mode))) {
    (void)system_call(SYS_dup2, null, 2);
  }
  if (socket != kSocket) (void)system_call(SYS_dup2, socket, kSocket);
  (void)system_call(SYS_fcntl, kSocket, F_SETFD, 0);
  if (failed(system_call(SYS_close_range, kSocket + 1, 0x7fff'ffff, 0))) {
    rlimit limit{1024, 1024};
    (void)system_call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, as_long(&limit));
    for (long fd = kSocket + 1; fd < static_cast<long>(limit.rlim_cur) && fd < 65536; ++fd)
      (void)system_call(SYS_close, fd);
  }
  (void)system_call(SYS_setsid);
  const std::uint64_t none = 0;
  (void)system_call(SYS_rt_sigprocmask, SIG_SETMASK, as_long(&none), 0, sizeof none);
  const char* arguments[] = {"heaptape", "collect", "--socket", "3", nullptr};
  (void)system_call(SYS_execve, as_long(path), as_long(arguments), as_long(environment));
  system_call(SYS_exit_group, 127);
  __builtin_unreachable();
}

// Starts the collector as a grandchild whose parent is gone at once. The exit signal 0 keeps the child in between away from
// the program's wait() and SIGCHLD; we reap it ourselves. False when a process could not be made.
[[gnu::noinline]] bool start_twice_removed(int socket, const char* path, char** environment) noexcept {
  constexpr long kLikeVfork = CLONE_VM | CLONE_VFORK;
  std::uint64_t all = ~std::uint64_t{0};
  std::uint64_t before = 0;
  (void)system_call(SYS_rt_sigprocmask, SIG_SETMASK, as_long(&all), as_long(&before), sizeof all);
  const long child = system_call(SYS_clone, kLikeVfork, 0);
  if (child == 0) {
    const long second = system_call(SYS_clone, kLikeVfork, 0);
    if (second == 0) become_collector(socket, path, environment);
    system_call(SYS_exit, failed(second) ? 1 : 0);
    __builtin_unreachable();
  }
  // Its exit status tells how it went: sharing memory with us is an optimisation that emulators leave out.
  int status = 1;
  if (!failed(child)) (void)system_call(SYS_wait4, child, as_long(&status), __WALL, 0);
  (void)system_call(SYS_rt_sigprocmask, SIG_SETMASK, as_long(&before), 0, sizeof before);
  return !failed(child) && status == 0;
}

} // namespace

void note_no_memory(wire::Header& header) noexcept {
  header.off_reason.store(static_cast<std::uint32_t>(wire::OffReason::MapFailed), std::memory_order_release);
}

const char* no_memory_sentence() noexcept {
  const auto is_limited = [](int resource) {
    rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
    (void)system_call(SYS_prlimit64, 0, resource, 0, as_long(&limit));
    return limit.rlim_cur != RLIM_INFINITY;
  };
  const bool space = is_limited(RLIMIT_AS), data = is_limited(RLIMIT_DATA);
  if (space && data)
    return "too little memory is left for the recorder under the limits on address space and data (ulimit -v, ulimit "
           "-d)";
  if (space) return "too little memory is left for the recorder under the limit on address space (ulimit -v)";
  if (data) return "too little memory is left for the recorder under the limit on data (ulimit -d)";
  return "the kernel gives the recorder no memory";
}

void attach_inherited(int fd, std::uint64_t key, Attached& attached) noexcept {
  const long first = map(fd, wire::kPage);
  if (failed(first)) return;
  const auto* header = reinterpret_cast<const wire::Header*>(first);
  const bool ours = header->magic == wire::kMagic && header->key == key;
  (void)system_call(SYS_munmap, first, wire::kPage);
  if (!ours) return;
  map_memory(fd, attached);
  (void)system_call(SYS_close, fd);
}

const char* listening_socket(const char* collector) noexcept {
  constexpr std::size_t kPrefix = 5;
  return std::strncmp(collector, "unix:", kPrefix) == 0 ? collector + kPrefix : nullptr;
}

void attach_at_door(const char* door, const Origin& origin, Attached& attached) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t size = std::strlen(door);
  if (size == 0 || size + 1 > sizeof address.sun_path) return;
  std::memcpy(address.sun_path + 1, door, size); // behind a NUL: no file, but a name that ends with its collector
  const int socket = connect_to(address, offsetof(sockaddr_un, sun_path) + 1 + size);
  if (failed(socket)) return;
  introduce(socket, origin, attached);
  (void)system_call(SYS_close, socket);
}

void attach_new(const char* path, char** environment, const Origin& origin, Attached& attached) noexcept {
  if (const char* listener = listening_socket(path); listener != nullptr)
    return attach_listening(listener, origin, attached);
  int ends[2] = {-1, -1};
  if (failed(system_call(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, as_long(ends)))) {
    return refuse(attached, "no socket for the collector could be made");
  }
  const bool started = start_twice_removed(ends[1], path, environment);
  (void)system_call(SYS_close, ends[1]);
  if (started) {
    introduce(ends[0], origin, attached);
  } else {
    refuse(attached, "the collector process could not be started");
  }
  (void)system_call(SYS_close, ends[0]);
}

} // namespace heaptape::recorder
