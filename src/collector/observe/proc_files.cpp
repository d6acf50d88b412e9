#include "collector/observe/proc_files.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/path_text.h"
#include "tape/python_remark.h"

namespace heaptape {

namespace {

std::string read_from_start(int fd, std::size_t most) {
  std::string text(most, '\0');
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

std::string_view next_word(std::string_view& text) {
  const std::size_t start = text.find_first_not_of(" \n");
  if (start == std::string_view::npos) return text = {};
  text.remove_prefix(start);
  const std::string_view word = text.substr(0, text.find_first_of(" \n"));
  text.remove_prefix(word.size());
  return word;
}

std::uint64_t next_number(std::string_view& text) {
  const std::string_view word = next_word(text);
  std::uint64_t number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

UniqueFd open_for_reading(const std::string& path) { return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); }

std::uint64_t cpu_time_us(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_nsec) / 1000;
}

// The value of NAME in "NAME=VALUE\0NAME=VALUE\0"; empty: it is not there.
std::string variable(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return std::string(entry.substr(name.size() + 1));
    environment.remove_prefix(std::min(environment.size(), entry.size() + 1));
  }
  return {};
}

} // namespace

std::string read_small_file(const std::string& path) {
  std::string text;
  const UniqueFd fd = open_for_reading(path);
  if (!fd) return text;
  std::array<char, 4096> part;
  constexpr std::size_t kMost = std::size_t{4} << 20;
  while (text.size() < kMost) {
    const ssize_t size = ::read(fd.get(), part.data(), part.size());
    if (size <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  return text;
}

std::string read_link(const std::string& path) {
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  return size > 0 ? std::string(target.data(), static_cast<std::size_t>(size)) : std::string();
}

std::optional<ProcStat> parse_proc_stat(const std::string& text) {
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::string_view rest = std::string_view(text).substr(name_end + 1);
  ProcStat stat;
  // Fields are numbered from 1 in proc(5); the name is the second.
  const std::size_t state = rest.find_first_not_of(' ');
  if (state != rest.npos) stat.state = rest[state];
  for (int field = 3; field <= 52; ++field) {
    const std::uint64_t number = next_number(rest);
    if (field == 4) stat.parent = static_cast<std::uint32_t>(number);
    if (field == 20) stat.threads = static_cast<std::uint32_t>(number);
    if (field == 22) stat.start_time = number;
    if (field == 26) stat.start_code = number;
    if (field == 28) stat.start_stack = number;
    if (field == 52) stat.wait_status = static_cast<int>(number);
  }
  return stat;
}

std::uint64_t parse_peak_rss(std::string_view status) {
  constexpr std::string_view kField = "\nVmHWM:";
  const std::size_t at = status.find(kField);
  if (at == status.npos) return 0;
  status.remove_prefix(at + kField.size());
  status.remove_prefix(std::min(status.find_first_not_of(" \t"), status.size()));
  std::uint64_t kilobytes = 0;
  std::from_chars(status.data(), status.data() + status.size(), kilobytes);
  return kilobytes << 10;
}

ProcFiles::ProcFiles(pid_t pid)
    : pid_(pid), stat_(open_for_reading(path("stat"))), statm_(open_for_reading(path("statm"))),
      status_(open_for_reading(path("status"))) {}

std::string ProcFiles::path(const char* file) const { return "/proc/" + std::to_string(pid_) + "/" + file; }

std::string ProcFiles::executable() const {
  constexpr std::string_view kDeleted = " (deleted)";
  std::string target = read_link(path("exe"));
  if (target.ends_with(kDeleted)) target.resize(target.size() - kDeleted.size());
  return target;
}

std::string started_name(const std::string& executable, const std::string& first_argument, const std::string& comm) {
  const std::string of_file(base_name(executable)), of_argument(base_name(first_argument));
  // The kernel names the process after the path that exec was given, which may be a link or a script; the first argument may be anything.
  if (comm.empty() || of_file.starts_with(comm)) return of_file;
  std::string name = of_argument.starts_with(comm) ? of_argument : comm;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

std::string ProcFiles::started_as() const {
  const std::string command = read_small_file(path("cmdline"));
  return started_name(executable(), command.substr(0, command.find('\0')),
                      thread_name(static_cast<std::uint32_t>(pid_)));
}

pid_t ProcFiles::parent() const {
  const std::optional<ProcStat> now = stat();
  return now ? static_cast<pid_t>(now->parent) : 0;
}

Meta ProcFiles::facts() const {
  Meta meta;
  const auto put = [&](const char* name, std::string value) {
    if (!value.empty()) meta[name] = std::move(value);
  };
  put("command", read_small_file(path("cmdline")));
  put("program", executable());
  put("directory", read_link(path("cwd")));
  put("pid", std::to_string(pid_));
  const std::string environment = read_small_file(path("environ"));
  for (const char* const name : {kPythonMalloc, kPythonPerf}) put(name, variable(environment, name));
  if (const auto now = stat()) put("ppid", std::to_string(now->parent));
  utsname system{};
  if (::uname(&system) == 0) {
    put("host", system.nodename);
    put("kernel", std::string(system.sysname) + " " + system.release + " " + system.machine);
  }
  return meta;
}

std::string ProcFiles::thread_name(std::uint32_t tid) const {
  std::string name = read_small_file(path("task/") + std::to_string(tid) + "/comm");
  if (name.ends_with('\n')) name.pop_back();
  return name;
}

bool ProcFiles::has_thread(std::uint32_t tid) const {
  return ::access((path("task/") + std::to_string(tid)).c_str(), F_OK) == 0;
}

std::optional<ProcStat> ProcFiles::stat() const {
  if (!stat_) return std::nullopt;
  return parse_proc_stat(read_from_start(stat_.get(), 1024));
}

std::uint64_t ProcFiles::peak_rss_bytes() const {
  return status_ ? parse_peak_rss(read_from_start(status_.get(), 2048)) : 0;
}

std::optional<Sample> ProcFiles::sample() const {
  if (!statm_) return std::nullopt;
  const std::string pages = read_from_start(statm_.get(), 256);
  const auto process = stat();
  if (pages.empty() || !process) return std::nullopt;
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::string_view rest = pages;
  const std::uint64_t all = next_number(rest), resident = next_number(rest), shared = next_number(rest);
  if (resident == 0) return std::nullopt; // it has ended, and its memory is gone
  Sample sample;
  sample.virtual_bytes = all * page;
  sample.rss_bytes = resident * page;
  sample.anonymous_bytes = resident > shared ? (resident - shared) * page : 0;
  sample.cpu_us = cpu_time_us(pid_);
  sample.threads = process->threads;
  return sample;
}

} // namespace heaptape
