#include "collector/recording/collector_process.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/path_text.h"
#include "collector/observe/program_end.h"
#include "collector/options/tape_name.h"
#include "collector/recording/collector.h"
#include "collector/recording/hello.h"
#include "collector/recording/own_process.h"
#include "collector/recording/process_recording.h"
#include "collector/recording/run_list.h"
#include "collector/recording/summary_text.h"
#include "wire/handshake.h"

namespace heaptape {

namespace {

bool send_message(int fd, LinkMessage::Kind kind, int number, const std::string& text) {
  LinkMessage message;
  message.kind = kind;
  message.number = number;
  std::memcpy(message.text, text.data(), std::min(text.size(), sizeof message.text - 1));
  return ::send(fd, &message, sizeof message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof message);
}

bool receive_message(int fd, LinkMessage& message) {
  ssize_t size = 0;
  do {
    size = ::recv(fd, &message, sizeof message, 0);
  } while (size < 0 && errno == EINTR);
  message.text[sizeof message.text - 1] = '\0';
  return size == static_cast<ssize_t>(sizeof message);
}

int exit_status(const CollectorResult& result) { return result.problem.empty() ? 0 : 1; }

// Only a tape that holds the whole recording: when the disk is full, its last bytes have better uses.
void finish(const CollectorOptions& options, CollectorResult& result) {
  if (options.finish && !result.tape.empty() && result.whole) options.finish(result);
  list_end(result.run, result.pid, result.program, std::string(base_name(result.tape)), result.summary);
}

// Names and index, then the last words. A limit on CPU time counts anew in a new process; only one thread is left here.
int finish_and_print(const CollectorOptions& options, CollectorResult& result) {
  const pid_t fresh = cpu_seconds_allowed() != 0 ? ::fork() : -1;
  if (fresh > 0) {
    while (::waitpid(fresh, nullptr, 0) < 0 && errno == EINTR) {}
    return exit_status(result);
  }
  finish(options, result);
  print_result(result, options.quiet);
  if (fresh == 0) ::_exit(0);
  return exit_status(result);
}

ProgramOrigin origin_of(const wire::Hello& hello) {
  return {.started_by = hello.started_by <= wire::StartedBy::Spawn ? hello.started_by : wire::StartedBy::User,
          .parent = static_cast<pid_t>(hello.parent),
          .parent_tape = std::string(hello.parent_tape, ::strnlen(hello.parent_tape, sizeof hello.parent_tape)),
          .started_ns = hello.started_ns};
}

// In the collector: hears from the launcher which program it is, and says whether the tape could be created.
int collect_for_launcher(const CollectorOptions& options, SharedMemory memory, UniqueFd link) {
  LinkMessage message;
  if (!receive_message(link.get(), message) || message.kind != LinkMessage::Kind::OpenTape) return 0;
  const pid_t program = message.number;
  const auto give_up = [&](const Error& error) {
    send_message(link.get(), LinkMessage::Kind::TapeOpened, static_cast<int>(error.code) + 1, error.sentence);
    return 1;
  };
  if (const Result<> enough = check_limits(); !enough) return give_up(enough.error());
  ProcessRecording process(options, std::move(memory), program, message.text, {});
  Collector& collector = process.first();
  const Result<> opened = program != 0 ? collector.create_tape(program) : check_tape_folder(options.tape);
  if (!opened.ok()) return give_up(opened.error());
  if (!collector.unreachable().empty()) print_line(collector.unreachable());
  send_message(link.get(), LinkMessage::Kind::TapeOpened, 0, collector.tape_path());
  CollectorResult result = process.run(std::move(link), print_line);
  return finish_and_print(options, result);
}

bool is_nowhere(int fd) {
  struct stat ours {};
  struct stat null {};
  return ::fstat(fd, &ours) != 0 || (::stat("/dev/null", &null) == 0 && ours.st_rdev == null.st_rdev);
}

// The recorder does not pass stderr on to its collector when it is a pipe: whoever reads that would wait for us to end.
// For the one line about a failed recording we open the program's own, if it still runs.
void tell_through(pid_t program, const std::string& sentence) {
  if (!is_nowhere(STDERR_FILENO)) return print_line(sentence);
  const std::string path = "/proc/" + std::to_string(program) + "/fd/2";
  const UniqueFd theirs(::open(path.c_str(), O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  const std::string line = "heaptape: " + sentence + "\n";
  if (theirs) (void)!::write(theirs.get(), line.data(), line.size());
}

} // namespace

Result<CollectorProcess> CollectorProcess::start(const CollectorOptions& options, const SharedMemory& memory) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error{ErrorCode::Exhausted, std::string("cannot start the collector: ") + std::strerror(errno)};
  }
  UniqueFd ours(ends[0]), theirs(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return Error{ErrorCode::Exhausted, std::string("cannot start the collector: ") + std::strerror(errno)};
  if (pid == 0) {
    ours.reset();
    Result<SharedMemory> mapped = SharedMemory::map_existing(UniqueFd(::dup(memory.fd())));
    if (!mapped.ok()) ::_exit(1);
    prepare_collector_process(mapped.value(), theirs.get());
    ::_exit(collect_for_launcher(options, std::move(mapped).value(), std::move(theirs)));
  }
  return CollectorProcess(pid, std::move(ours));
}

Result<std::string> CollectorProcess::open_tape(pid_t program, const std::string& program_name) {
  LinkMessage reply;
  if (!send_message(link_.get(), LinkMessage::Kind::OpenTape, program, program_name) ||
      !receive_message(link_.get(), reply) || reply.kind != LinkMessage::Kind::TapeOpened) {
    return Error{ErrorCode::Exhausted, "the collector ended before the recording began"};
  }
  if (reply.number != 0) return Error{static_cast<ErrorCode>(reply.number - 1), reply.text};
  return std::string(reply.text);
}

void CollectorProcess::program_ended(int wait_status) {
  send_message(link_.get(), LinkMessage::Kind::ProgramEnded, wait_status, "");
}

void CollectorProcess::cancel() { send_message(link_.get(), LinkMessage::Kind::Cancel, 0, ""); }

int CollectorProcess::note(int wait_status) {
  reaped_ = true;
  if (WIFEXITED(wait_status)) exit_status_ = WEXITSTATUS(wait_status);
  if (WIFSIGNALED(wait_status)) killed_by_ = WTERMSIG(wait_status);
  return exit_status_;
}

bool CollectorProcess::is_killed() {
  int status = 0;
  if (!reaped_ && ::waitpid(pid_, &status, WNOHANG) == pid_) note(status);
  return killed_by_ != 0;
}

int CollectorProcess::wait() {
  if (reaped_) return exit_status_;
  int status = 0;
  pid_t waited = 0;
  do {
    waited = ::waitpid(pid_, &status, 0);
  } while (waited < 0 && errno == EINTR);
  return waited == pid_ ? note(status) : 1;
}

int collect_for(int socket_fd, const CollectorOptions& given, const CollectFor& how) {
  CollectorOptions options = given;
  UniqueFd socket(socket_fd);
  wire::Hello hello{};
  if (::recv(socket.get(), &hello, sizeof hello, 0) != static_cast<ssize_t>(sizeof hello)) return 1;
  if (hello.magic != wire::kHelloMagic || hello.version != wire::kHelloVersion) {
    refuse(socket.get(), "the recorder and this heaptape have different versions");
    return 1;
  }
  // The collector of the program before exec has the name, or had it; it cannot be reached from here.
  if (hello.started_by == wire::StartedBy::Exec) options.tape_named = options.force = false;
  Result<SharedMemory> memory = SharedMemory::create(options);
  if (!memory.ok()) {
    refuse(socket.get(), memory.error().sentence);
    return 1;
  }
  prepare_collector_process(memory.value(), socket.get());
  if (how.prepared) how.prepared();
  if (const Result<> enough = check_limits(); !enough) {
    refuse(socket.get(), enough.error().sentence);
    return 1;
  }

  const auto program = how.program != 0 ? how.program : static_cast<pid_t>(hello.pid);
  // It waits for our reply; afterwards a short program may be gone before we look.
  const ProcFiles proc(program);
  const std::string path = proc.executable();
  if (options.program.empty()) options.program = path;
  if (options.command.empty()) options.command = proc.facts()["command"];
  ProcessRecording process(options, std::move(memory).value(), program, path.empty() ? "program" : proc.started_as(),
                           origin_of(hello));
  Collector& collector = process.first();
  if (const Result<> created = collector.create_tape(program); !created.ok()) {
    refuse(socket.get(), created.error().sentence);
    return 1;
  }
  // Only who chose the folder is told: the program's output is not ours.
  if (!collector.unreachable().empty() && !options.quiet && std::getenv("HEAPTAPE_RUNTIME_DIR") != nullptr)
    tell_through(program, collector.unreachable());
  collector.hold_program();
  wire::HelloReply reply{};
  reply.pid = static_cast<std::uint32_t>(::getpid());
  if (!send_reply(socket.get(), reply, collector.memory_fd())) return 1;
  socket.reset();
  CollectorResult result = process.run(UniqueFd(), [&](const std::string& text) { tell_through(program, text); });
  if (!result.problem.empty() && !result.told) {
    tell_through(program, result.problem);
    result.told = true;
  }
  return finish_and_print(options, result);
}

} // namespace heaptape
