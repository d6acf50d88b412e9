#include "cli/beside/tape_in_use.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>

#include "base/unique_fd.h"

namespace heaptape::cli {
namespace {

namespace fs = std::filesystem;

bool is_collector(const fs::path& process) {
  const UniqueFd fd(::open((process / "comm").c_str(), O_RDONLY | O_CLOEXEC));
  char text[64];
  const ssize_t got = fd ? ::read(fd.get(), text, sizeof text) : 0;
  return std::string_view(text, got > 0 ? static_cast<std::size_t>(got) : 0) == "heaptape-coll\n";
}

bool has_open(const fs::path& process, const struct stat& wanted) {
  std::error_code problem;
  for (fs::directory_iterator fds(process / "fd", problem), end; !problem && fds != end; fds.increment(problem)) {
    struct stat seen {};
    if (::stat(fds->path().c_str(), &seen) == 0 && seen.st_dev == wanted.st_dev && seen.st_ino == wanted.st_ino)
      return true;
  }
  return false;
}

} // namespace

bool is_being_written(const std::string& tape) {
  struct stat wanted {};
  if (::stat(tape.c_str(), &wanted) != 0) return false;
  std::error_code problem;
  for (fs::directory_iterator processes("/proc", problem), end; !problem && processes != end;
       processes.increment(problem)) {
    if (is_collector(processes->path()) && has_open(processes->path(), wanted)) return true;
  }
  return false;
}

Result<Run> read_run_now(const std::string& folder) {
  Result<Run> run = read_run(folder);
  if (!run) return run;
  for (RunProcess& process : run.value().programs)
    process.running = !process.finished && is_being_written(process.tape);
  return run;
}

bool is_abandoned(const std::string& tape) {
  struct stat facts {};
  const bool can_tell = ::stat(tape.c_str(), &facts) == 0 && (::geteuid() == 0 || ::geteuid() == facts.st_uid) &&
                        ::access("/proc/self/fd", R_OK) == 0;
  return can_tell && !is_being_written(tape);
}

} // namespace heaptape::cli
