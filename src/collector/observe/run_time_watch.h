// Follows the files in which the program names the code that it makes at run time, so that at the end they can be read although they
// or the program's view of the file system are gone, and so that their lines have a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/run_time_files.h"
#include "tape/maps.h"

namespace heaptape {

// One thread at a time.
class RunTimeWatch {
public:
  RunTimeWatch() = default;
  // `directory`: where the program was started, in case it is gone already.
  RunTimeWatch(pid_t pid, const std::string& directory) : program_(look_up_program(pid)) {
    if (program_->directory.empty()) program_->directory = directory;
  }

  // Looks how far the perf map has grown; `time_us` is now. Costs a system call or two.
  void look(std::uint64_t time_us);
  // The program has mapped these files.
  void look_at_mapped(const MapNames& names);
  // The program has ended or goes on without us: the last look.
  void finish(std::uint64_t time_us);

  const RunTimeFile& perf_map() const { return perf_map_; }
  const RunTimeFile& jit_dump() const { return jit_dump_; }

private:
  static constexpr std::size_t kMostNotes = 65'536;

  std::optional<RunTimeProgram> program_;
  RunTimeFile perf_map_, jit_dump_;
  std::size_t names_seen_ = 0;
};

} // namespace heaptape
