#include "collector/control/where_desk.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <utility>

namespace heaptape {

namespace {

std::string hexadecimal(std::uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

// 0: it could not be started.
pid_t start(std::vector<std::string> command, int output) {
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  ::posix_spawnattr_init(&attributes);
  sigset_t heard;
  ::sigfillset(&heard); // the collector is deaf to most
  ::posix_spawnattr_setsigdefault(&attributes, &heard);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, words.front(), &files, &attributes, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  return error == 0 ? child : 0;
}

std::string read_all(int fd) {
  std::string text(wire::kAnswerBytes, '\0');
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

} // namespace

WhereDesk::WhereDesk(const SharedMemory& memory, std::vector<std::string> command)
    : memory_(memory), command_(std::move(command)) {}

WhereDesk::~WhereDesk() { close(); }

void WhereDesk::begin(const std::string& tape) {
  wire::Header& header = memory_.header();
  header.question.store(static_cast<std::uint32_t>(wire::Question::Taken), std::memory_order_relaxed);
  drop_child(); // of a client that has given up
  output_.reset(::memfd_create("heaptape-answer", MFD_CLOEXEC));
  if (command_.empty() || !output_) return answer("heaptape: this collector cannot answer\n", false);
  std::vector<std::string> command = command_;
  command.push_back(tape);
  command.push_back(hexadecimal(header.asked_address.load(std::memory_order_relaxed)));
  child_ = start(std::move(command), output_.get());
  if (child_ == 0) answer("heaptape: cannot answer: no process could be started\n", false);
}

void WhereDesk::go_on() {
  int status = 0;
  const pid_t ended = ::waitpid(child_, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return;
  child_ = 0;
  std::string text = read_all(output_.get());
  if (text.empty()) text = "heaptape: cannot answer; try 'heaptape where -p PID ADDRESS'\n";
  answer(text, ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void WhereDesk::answer(std::string_view text, bool found) {
  wire::Header& header = memory_.header();
  output_.reset();
  const std::size_t size = std::min<std::size_t>(text.size(), wire::kAnswerBytes);
  std::memcpy(memory_.answer(), text.data(), size);
  header.answer_bytes.store(static_cast<std::uint32_t>(size), std::memory_order_relaxed);
  header.answer_found.store(found ? 1 : 0, std::memory_order_relaxed);
  header.question.store(static_cast<std::uint32_t>(wire::Question::Answered), std::memory_order_release);
  ::syscall(SYS_futex, &header.question, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void WhereDesk::close() {
  const bool somebody_waits = working() || asked();
  drop_child();
  if (somebody_waits) answer("heaptape: the recording is over\n", false);
}

void WhereDesk::drop_child() {
  if (!working()) return;
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
  child_ = 0;
}

} // namespace heaptape
