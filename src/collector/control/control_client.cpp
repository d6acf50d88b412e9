#include "collector/control/control_client.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <optional>

#include "base/number_text.h"
#include "base/system_error.h"
#include "base/unique_fd.h"
#include "collector/control/control_folder.h"
#include "collector/control/control_server.h"

namespace heaptape {

namespace {

constexpr int kConnectMs = 2'000;
constexpr int kReplyMs = 30'000;     // it says nothing for so long only when it hangs
constexpr int kContentsMs = 600'000; // it may have very much memory to copy

// None: there is no listener. What a crashed collector left behind in a folder of ours is removed.
UniqueFd connect_to(const std::string& path) {
  const auto address = socket_address(path);
  if (!address) return UniqueFd();
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const timeval patience{kConnectMs / 1000, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0) {
    // Folders in /tmp can be anybody's.
    return ::geteuid() == 0 || peer_is_allowed(socket.get()) ? std::move(socket) : UniqueFd();
  }
  struct stat facts {};
  if (errno == ECONNREFUSED && ::lstat(path.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode) &&
      facts.st_uid == ::geteuid()) {
    ::unlink(path.c_str());
  }
  return UniqueFd();
}

struct Answer {
  UniqueFd socket{};
  std::optional<ControlReply> reply{}; // none: nobody listens, or not to us
  bool silent = false;                 // somebody does, but said nothing in time
};

std::optional<ControlReply> receive_reply(int socket, int patience_ms, bool& silent) {
  pollfd ready{socket, POLLIN, 0};
  int polled = 0;
  do {
    polled = ::poll(&ready, 1, patience_ms);
  } while (polled < 0 && errno == EINTR);
  silent = polled == 0;
  if (polled <= 0) return std::nullopt;
  std::array<std::byte, kMostControlBytes> bytes;
  const ssize_t size = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size <= 0) return std::nullopt;
  return parse_control_reply(std::span(bytes).first(static_cast<std::size_t>(size)));
}

Answer ask(const std::string& path, const ControlRequest& request, int patience_ms) {
  Answer answer{.socket = connect_to(path)};
  if (!answer.socket) return answer;
  const std::vector<std::byte> bytes = encode_control(request);
  if (::send(answer.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return answer;
  answer.reply = receive_reply(answer.socket.get(), patience_ms, answer.silent);
  return answer;
}

// As the kernel keeps it; empty: there is no such process.
std::string name_of_process(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

Error not_recorded(pid_t program) {
  const std::string who = "process " + std::to_string(program);
  if (program <= 0 || (::kill(program, 0) != 0 && errno == ESRCH)) {
    return {ErrorCode::NotFound, "there is no " + who + "; 'heaptape ps' lists what is being recorded"};
  }
  if (const Result<> folder = check_control_folder(); !folder)
    return {ErrorCode::Denied, who + " cannot be reached: " + folder.error().sentence};
  const std::string name = name_of_process(program);
  return {ErrorCode::NotFound, who + (name.empty() ? "" : " (" + printable(name) + ")") +
                                   " is running but not being recorded by you; heaptape must start a program to record "
                                   "it: heaptape record " +
                                   (name.empty() ? "PROGRAM" : printable(name))};
}

Result<Answer> ask_program(pid_t program, const ControlRequest& request, int patience_ms) {
  const std::string who = "process " + std::to_string(program);
  bool silent = false;
  for (const std::string& path : control_sockets(program > 0 ? program : -1)) {
    Answer answer = ask(path, request, patience_ms);
    silent |= answer.silent;
    if (!answer.reply) continue;
    if (!answer.reply->refusal.empty()) return Error{ErrorCode::Unsupported, who + ": " + answer.reply->refusal};
    if (answer.reply->recording.pid == program) return answer;
  }
  if (silent)
    return Error{ErrorCode::Io, who + " is being recorded, but its collector does not answer: it is stopped, or very "
                                      "busy; try again, or read the tape as it is"};
  return not_recorded(program);
}

Result<> check_name(const std::string& name) {
  if (name.size() <= kLongestMarkName) return Unit{};
  return Error{ErrorCode::Usage, "a mark's name may have at most " + std::to_string(kLongestMarkName) + " bytes"};
}

Result<LiveRecording> ask_for_recording(pid_t program, const ControlRequest& request, int patience_ms = kReplyMs) {
  Result<Answer> answer = ask_program(program, request, patience_ms);
  if (!answer) return answer.error();
  return std::move(answer).value().reply->recording;
}

} // namespace

Result<std::vector<LiveRecording>> live_recordings(std::size_t* silent, int patience_ms) {
  std::vector<LiveRecording> found;
  for (const std::string& path : control_sockets(0)) {
    const Answer answer = ask(path, {.ask = ControlAsk::Info}, patience_ms);
    if (answer.reply && answer.reply->refusal.empty()) found.push_back(answer.reply->recording);
    if (silent != nullptr && answer.silent) ++*silent;
  }
  // Root sees what others record even where its own folder cannot be used.
  if (const Result<> folder = check_control_folder(); found.empty() && !folder) return folder.error();
  std::sort(found.begin(), found.end(), [](const LiveRecording& a, const LiveRecording& b) { return a.pid < b.pid; });
  return found;
}

Result<LiveRecording> live_recording(pid_t program) { return ask_for_recording(program, {.ask = ControlAsk::Info}); }

Result<LiveRecording> flush_tape(pid_t program, int patience_ms) {
  return ask_for_recording(program, {.ask = ControlAsk::Flush}, patience_ms);
}

Result<LiveRecording> mark_now(pid_t program, const std::string& name, MarkKind kind) {
  if (const Result<> fits = check_name(name); !fits) return fits.error();
  return ask_for_recording(program, {.ask = ControlAsk::Mark, .mark = kind, .name = name});
}

Result<TakenContents> take_contents(pid_t program, const std::string& name, SnapshotMethod method,
                                    bool with_not_dumped) {
  if (const Result<> fits = check_name(name); !fits) return fits.error();
  Result<Answer> answer = ask_program(
      program, {.ask = ControlAsk::Contents, .name = name, .method = method, .with_not_dumped = with_not_dumped},
      kContentsMs);
  if (!answer) return answer.error();
  ControlReply reply = *std::move(answer).value().reply;
  return TakenContents{std::move(reply.recording), std::move(reply.outcome), std::move(reply.missing)};
}

Result<LiveRecording> stop_recording(pid_t program) {
  Result<Answer> answer = ask_program(program, {.ask = ControlAsk::Stop}, kReplyMs);
  if (!answer) return answer.error();
  // The collector hangs up when the tape is finished, names and index included, however long that takes.
  char rest = 0;
  while (::recv(answer.value().socket.get(), &rest, 1, 0) < 0 && errno == EINTR) {}
  return std::move(answer).value().reply->recording;
}

} // namespace heaptape
