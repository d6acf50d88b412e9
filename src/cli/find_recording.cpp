#include "cli/find_recording.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/unique_fd.h"
#include "tape/format.h"

namespace heaptape::cli {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[64];
  const ssize_t got = fd ? ::read(fd.get(), text, sizeof text) : 0;
  const std::string_view whole(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  return std::string(whole.substr(0, whole.find('\n')));
}

// The program on the tape; 0: it is none.
pid_t program_on(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  format::FileHeader header{};
  if (!fd || ::pread(fd.get(), &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header)) return 0;
  return std::memcmp(header.magic, format::kMagic, sizeof header.magic) == 0 ? static_cast<pid_t>(header.pid) : 0;
}

void look_at(pid_t collector, std::vector<RunningRecording>& found) {
  std::error_code problem;
  const fs::path folder = "/proc/" + std::to_string(collector);
  if (first_line(folder / "comm") != "heaptape-coll") return;
  for (fs::directory_iterator fds(folder / "fd", problem), end; !problem && fds != end; fds.increment(problem)) {
    std::error_code gone;
    const std::string target = fs::read_symlink(fds->path(), gone);
    if (gone || !target.starts_with('/') || !fs::is_regular_file(target, gone)) continue;
    if (const pid_t program = program_on(target); program != 0) found.push_back({program, collector, target});
  }
}

} // namespace

std::vector<RunningRecording> running_recordings() {
  std::vector<RunningRecording> found;
  std::error_code problem;
  for (fs::directory_iterator processes("/proc", problem), end; !problem && processes != end;
       processes.increment(problem)) {
    const std::string name = processes->path().filename();
    pid_t pid = 0;
    if (const auto [rest, status] = std::from_chars(name.data(), name.data() + name.size(), pid);
        status == std::errc{} && rest == name.data() + name.size())
      look_at(pid, found);
  }
  return found;
}

Result<RunningRecording> recording_of(pid_t program) {
  std::string others;
  for (const RunningRecording& recording : running_recordings()) {
    if (recording.program == program) return recording;
    others += (others.empty() ? "" : ", ") + std::to_string(recording.program);
  }
  return Error{ErrorCode::NotFound, "program " + std::to_string(program) + " is not being recorded onto a tape; " +
                                        (others.empty() ? "none is" : "these are: " + others)};
}

bool is_being_written(const std::string& tape) {
  struct stat wanted {
  }, seen{};
  if (::stat(tape.c_str(), &wanted) != 0) return false;
  for (const RunningRecording& recording : running_recordings()) {
    if (::stat(recording.tape.c_str(), &seen) == 0 && seen.st_dev == wanted.st_dev && seen.st_ino == wanted.st_ino)
      return true;
  }
  return false;
}

} // namespace heaptape::cli
