// The files in which a program names the code that it makes at run time: /tmp/perf-PID.map and jit-PID.dump. Other programs could have put
// such files there, so they are opened with care.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace heaptape {

// How large a file was at a time of the tape.
struct FileGrowth {
  std::uint64_t time_us = 0;
  std::uint64_t bytes = 0;
};

struct RunTimeFile {
  UniqueFd fd;
  std::vector<FileGrowth> growth{}; // in order; empty: nobody looked while it grew
};

// The program as its neighbours see it.
struct RunTimeProgram {
  pid_t pid = 0;       // in our pid namespace
  pid_t inner_pid = 0; // in its own, which is what it puts into names of files
  uid_t owner = 0;     // whose files are believed, besides root's
  std::string directory{};
};
// From /proc; what is not known there (the program is gone) is as for a program of ours.
RunTimeProgram look_up_program(pid_t pid);

// A regular file of the owner or of root that is not a link; none otherwise.
UniqueFd open_run_time_file(const std::string& path, uid_t owner);
// Where they can lie: in the program's own view of the file system while it runs, and in ours.
UniqueFd open_perf_map(const RunTimeProgram& program);
UniqueFd open_jit_dump(const RunTimeProgram& program);
// Whether a mapped file is a jitdump: compilers map it so that it can be found. For its path as the program sees it.
bool is_jit_dump_path(std::string_view path);
UniqueFd open_mapped_jit_dump(const RunTimeProgram& program, const std::string& path);

// What is in the file now, as far as it is believed to be of use.
inline constexpr std::size_t kMostRunTimeBytes = std::size_t{256} << 20;
std::string read_run_time_file(int fd, std::size_t most = kMostRunTimeBytes);

} // namespace heaptape
