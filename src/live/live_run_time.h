// What code is called that a running program has made, by its perf map and jitdump as they are now. One thread at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/run_time_files.h"
#include "report/names/run_time_names.h"

namespace heaptape {

class LiveRunTime {
public:
  // Whose files; before that nothing has a name. The program must be there still.
  void follow(pid_t pid) { program_ = look_up_program(pid); }

  // Those of the addresses that have a name. Reads the files if they have changed since the last call, or if `always`; of each no more
  // than kMostBytes. Files that take long to read are not read again at once: then nothing is found.
  std::map<std::uint64_t, RunTimePlace> find(const std::vector<std::uint64_t>& addresses, bool always);

private:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  struct File {
    UniqueFd fd{};
    std::uint64_t inode = 0, bytes = 0;
    std::int64_t written_ns = 0;
    // Takes the file that is there now; the one from before stays when there is none. True: it is not what it was.
    bool look(UniqueFd found);
  };

  std::optional<RunTimeProgram> program_;
  File perf_map_, jit_dump_;
  std::chrono::steady_clock::time_point not_before_{};
};

} // namespace heaptape
