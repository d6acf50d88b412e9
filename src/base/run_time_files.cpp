#include "base/run_time_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <charconv>
#include <cstdlib>
#include <memory>

namespace heaptape {

namespace {

std::string proc_path(pid_t pid, const char* file) { return "/proc/" + std::to_string(pid) + "/" + file; }

// The last of the pids in /proc/PID/status, "NSpid:	812	1".
pid_t pid_inside(pid_t pid) {
  const UniqueFd status(::open(proc_path(pid, "status").c_str(), O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t size = status ? ::read(status.get(), text, sizeof text) : 0;
  std::string_view rest(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::size_t line = rest.find("\nNSpid:");
  if (line == rest.npos) return pid;
  rest = rest.substr(line + 1);
  rest = rest.substr(0, rest.find('\n'));
  const std::size_t last = rest.find_last_of("\t ");
  pid_t inside = pid;
  if (last != rest.npos) std::from_chars(rest.data() + last + 1, rest.data() + rest.size(), inside);
  return inside;
}

// LLVM makes a folder of its own for each: ~/.debug/jit/llvm-IR-jit-20260101-8a3f/jit-812.dump.
UniqueFd open_in_folders_of(const std::string& folder, const std::string& name, uid_t owner) {
  constexpr int kMostFolders = 4096;
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::opendir(folder.c_str()), &::closedir);
  for (int left = kMostFolders; list != nullptr && left > 0; --left) {
    const dirent* entry = ::readdir(list.get());
    if (entry == nullptr) break;
    if (entry->d_name[0] == '.') continue;
    if (UniqueFd fd = open_run_time_file(folder + "/" + entry->d_name + "/" + name, owner)) return fd;
  }
  return {};
}

} // namespace

RunTimeProgram look_up_program(pid_t pid) {
  RunTimeProgram program{.pid = pid, .inner_pid = pid_inside(pid), .owner = ::getuid()};
  struct stat facts {};
  if (::stat(proc_path(pid, "").c_str(), &facts) == 0) program.owner = facts.st_uid;
  char directory[4096];
  const ssize_t size = ::readlink(proc_path(pid, "cwd").c_str(), directory, sizeof directory);
  if (size > 0) program.directory.assign(directory, static_cast<std::size_t>(size));
  return program;
}

UniqueFd open_run_time_file(const std::string& path, uid_t owner) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW));
  struct stat facts {};
  if (!fd || ::fstat(fd.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  if (facts.st_uid != owner && facts.st_uid != 0) return {};
  return fd;
}

UniqueFd open_perf_map(const RunTimeProgram& program) {
  const std::string name = "/tmp/perf-" + std::to_string(program.inner_pid) + ".map";
  if (UniqueFd fd = open_run_time_file(proc_path(program.pid, "root") + name, program.owner)) return fd;
  // The program is gone, or its root is hidden from us. Without its pid we know nothing of a namespace of its own.
  if (program.inner_pid != program.pid) return {};
  return open_run_time_file(name, program.owner);
}

bool is_jit_dump_path(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("jit-") && name.ends_with(".dump");
}

UniqueFd open_mapped_jit_dump(const RunTimeProgram& program, const std::string& path) {
  if (UniqueFd fd = open_run_time_file(proc_path(program.pid, "root") + path, program.owner)) return fd;
  return open_run_time_file(path, program.owner);
}

UniqueFd open_jit_dump(const RunTimeProgram& program) {
  const std::string name = "jit-" + std::to_string(program.inner_pid) + ".dump";
  if (!program.directory.empty()) {
    if (UniqueFd fd = open_run_time_file(program.directory + "/" + name, program.owner)) return fd;
  }
  if (UniqueFd fd = open_mapped_jit_dump(program, "/tmp/" + name)) return fd;
  for (const char* variable : {"JITDUMPDIR", "HOME"}) {
    const char* folder = std::getenv(variable);
    if (folder == nullptr || folder[0] != '/') continue;
    if (UniqueFd fd = open_in_folders_of(std::string(folder) + "/.debug/jit", name, program.owner)) return fd;
  }
  return {};
}

std::string read_run_time_file(int fd, std::size_t most) {
  struct stat facts {};
  std::string bytes;
  if (::fstat(fd, &facts) != 0 || facts.st_size <= 0) return bytes;
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  bytes.resize(size < most ? static_cast<std::size_t>(size) : most);
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::pread(fd, bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

} // namespace heaptape
