// A run: a folder with a tape for each process, made by `heaptape record --follow`. What is known comes from the tapes alone, so a run that
// was killed can be read as well; processes.jsonl beside them is for people and for those who wait (docs/guide/runs.md).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tape/contents.h"

namespace heaptape {

struct RunProcess {
  std::string tape; // its path
  std::uint32_t pid = 0;
  std::uint32_t parent_pid = 0;
  std::string name;       // as it was started
  std::string command;    // its arguments, as one could type them
  std::string started_by; // "fork", "exec", "spawn"; empty: by the user
  std::string parent_tape;
  std::uint64_t start_ns = 0;        // wall clock
  bool finished = false;             // the tape has an end
  bool running = false;              // it has none yet; who knows what runs on this machine sets it
  std::uint64_t rss_bytes = 0;       // the most that was resident, without heaptape's own; 0: not known
  std::uint64_t anonymous_bytes = 0; // likewise, without files
  Summary summary{};
  std::vector<std::string> before{};   // names of the programs that the process was before, by exec
  std::optional<std::size_t> parent{}; // index of the process that made it, if that is in the run
  std::optional<std::size_t> became{}; // index of the program that the process became: that one stands for it
};

struct Run {
  std::string folder;
  std::vector<RunProcess> programs{};    // in order of their start; those with `became` are shown with their successors
  std::vector<std::string> unreadable{}; // paths of files that are named as tapes are, but are none, or badly damaged
  std::size_t main = 0;                  // what commands open: see main_of_run()

  // Processes, whatever programs they were.
  std::size_t process_count() const;
};

// Whether the path is a folder that holds tapes.
bool is_run(const std::string& path);

// Reads what all tapes of the folder say about themselves; those that cannot be read are set apart. NotFound: there is none.
Result<Run> read_run(const std::string& folder);

// The program that `wanted` means: a process id, or a name, of which the one with the largest peak. An error lists what there is.
Result<std::size_t> find_in_run(const Run& run, const std::string& wanted);

// What a process needed at most: the peak of its heap, or its anonymous memory if that is so much more that it must have mapped it itself.
std::uint64_t memory_of(const RunProcess& process);

// The one that matters most: that which needed most memory, of those that became no other program. `like`, a name, is preferred if there is
// one of that name.
std::size_t main_of_run(const Run& run, const std::string& like = {});

// A line of processes.jsonl: {"start":COLLECTOR,"pid":PID,... or {"end":..., as far as it is of use for waiting. Nothing for any other text.
struct RunLine {
  bool is_end = false;
  pid_t collector = 0, pid = 0;
};
std::optional<RunLine> parse_run_line(std::string_view line);

// Waits until the tapes of all processes that have ended are finished, as processes.jsonl says; at most this long.
void await_run(const std::string& folder, std::uint64_t most_ms);

} // namespace heaptape
