#include "cli/beside/render_graph.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "base/system_error.h"
#include "base/unique_fd.h"
#include "collector/launch/program_search.h"

namespace heaptape::cli {
namespace {

Error failure(const std::string& what) { return {ErrorCode::Io, "the picture could not be drawn: " + what}; }

// A file in memory that holds the text, to be read from its beginning.
UniqueFd file_of(const std::string& text) {
  UniqueFd file(::memfd_create("graph", MFD_CLOEXEC));
  std::size_t done = 0;
  while (file && done < text.size()) {
    const ssize_t size = ::write(file.get(), text.data() + done, text.size() - done);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return UniqueFd();
    done += static_cast<std::size_t>(size);
  }
  if (file) ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

} // namespace

Result<std::string> render_graph(const std::string& graph, const std::string& format) {
  const Result<std::string> dot = find_program("dot", std::getenv("PATH"));
  if (!dot) {
    return Error{ErrorCode::NotFound,
                 "drawing the picture needs Graphviz (Debian package graphviz); without it, use --dot FILE "
                 "or heaptape export --cpu --format pprof, folded, speedscope or callgrind"};
  }
  const UniqueFd input = file_of(graph);
  int ends[2];
  if (!input || ::pipe2(ends, O_CLOEXEC) != 0) return failure(system_message(errno));
  UniqueFd from_dot(ends[0]), to_us(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, to_us.get(), STDOUT_FILENO);
  std::string words[] = {"dot", "-T" + format};
  char* arguments[] = {words[0].data(), words[1].data(), nullptr};
  pid_t pid = 0;
  const int spawned = ::posix_spawn(&pid, dot.value().c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  to_us = UniqueFd();
  if (spawned != 0) return failure(system_message(spawned));
  std::string picture;
  std::vector<char> buffer(std::size_t{1} << 16);
  for (;;) {
    const ssize_t size = ::read(from_dot.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    picture.append(buffer.data(), static_cast<std::size_t>(size));
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || picture.empty())
    return failure(dot.value() + " failed; --dot FILE saves its input");
  return picture;
}

} // namespace heaptape::cli
