// What /proc says about the program. Everything may be gone at any moment; then fields are empty or 0.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "tape/contents.h"

namespace heaptape {

// The whole file, empty when it cannot be read.
std::string read_small_file(const std::string& path);
// Empty when it is not a link.
std::string read_link(const std::string& path);

// Fields of /proc/PID/stat.
struct ProcStat {
  std::uint32_t parent = 0;
  std::uint32_t threads = 0;
  std::uint64_t start_time = 0;  // of the process, in clock ticks since boot
  std::uint64_t start_code = 0;  // of the image: exec changes it
  std::uint64_t start_stack = 0; // likewise
  char state = 0;                // 'Z': it has ended but was not reaped
  int wait_status = 0;           // of a process that has ended, if the kernel shows it to us
};
// The program's name in the text may hold anything, also spaces and parentheses.
std::optional<ProcStat> parse_proc_stat(const std::string& text);

// The "VmHWM:" of /proc/PID/status in bytes; 0: it does not say.
std::uint64_t parse_peak_rss(std::string_view status);
// The name under which a program was started, from three that may be cut or changed: of its file, the first argument, and the kernel's name
// for the process, which is at most 15 bytes of what exec was given.
std::string started_name(const std::string& executable, const std::string& first_argument, const std::string& comm);

class ProcFiles {
public:
  explicit ProcFiles(pid_t pid);

  pid_t pid() const { return pid_; }
  // "command", "program", "directory", "pid", "ppid", "host", "kernel"; only what is known.
  Meta facts() const;
  // Path of the executable, without the kernel's " (deleted)".
  std::string executable() const;
  // The name under which the program was started: of a link to it, of a script. Empty when it is not known.
  std::string started_as() const;
  pid_t parent() const; // 0: not known
  std::string thread_name(std::uint32_t tid) const;
  bool has_thread(std::uint32_t tid) const;
  std::optional<ProcStat> stat() const;
  // time_us is left 0. nullopt when the program is gone.
  std::optional<Sample> sample() const;
  // The most that was ever resident; 0: not known.
  std::uint64_t peak_rss_bytes() const;

private:
  std::string path(const char* file) const;

  pid_t pid_;
  // Kept open: reading again is half the price of opening again.
  UniqueFd stat_;
  UniqueFd statm_;
  UniqueFd status_;
};

} // namespace heaptape
