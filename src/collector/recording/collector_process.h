// The launcher's side of a collector: a forked child (no exec) in a session of its own that survives the launcher.
//
//   SharedMemory memory = create(...);             // the launcher keeps the descriptor for the program
//   CollectorProcess collector = start(options, memory);
//   pid = fork(), the child waits;
//   collector.open_tape(pid, "sqlite3");           // fails before the program runs when the tape cannot be created
//   let the child exec; waitpid(pid);
//   collector.program_ended(status); collector.wait();
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "collector/options/collector_options.h"
#include "collector/rings/shared_memory.h"

namespace heaptape {

class CollectorProcess {
public:
  // Forks the collector. Call it while the process has one thread. The memory stays usable in the caller.
  static Result<CollectorProcess> start(const CollectorOptions& options, const SharedMemory& memory);

  CollectorProcess(CollectorProcess&&) noexcept = default;
  CollectorProcess& operator=(CollectorProcess&&) noexcept = default;

  // Tells which program will be recorded and waits until its tape is created; the result is the tape's path. With pid 0
  // (run under a debugger: the program's pid is not known yet) the tape is created when the program attaches and the
  // result is empty; then only the folder is checked here.
  Result<std::string> open_tape(pid_t program, const std::string& program_name);

  // What waitpid() said about the program. Without this call (launcher killed) the tape says that the ending is
  // unknown.
  void program_ended(int wait_status);

  // The program never ran (exec failed): the collector ends silently and leaves no tape behind.
  void cancel();

  // Waits until the tape is finished. 0: all is well; 1: something went wrong and was printed by the collector, unless it
  // was killed.
  int wait();
  // The collector is gone, killed by a signal; it says nothing itself then. Does not wait.
  bool is_killed();
  int killed_by() const { return killed_by_; } // 0: it was not, as far as is known

  pid_t pid() const { return pid_; }

private:
  CollectorProcess(pid_t pid, UniqueFd link) : pid_(pid), link_(std::move(link)) {}

  int note(int wait_status);

  pid_t pid_ = -1;
  UniqueFd link_;
  bool reaped_ = false;
  int exit_status_ = 1;
  int killed_by_ = 0;
};

// `heaptape collect FD`: the collector of a program that was started without the launcher. Speaks wire/handshake.h on
// the inherited socket, then collects until the program is gone. Returns the exit status.
struct CollectFor {
  pid_t program = 0;                // its pid here; 0: as it says itself
  std::function<void()> prepared{}; // called when the process has become a collector, before the program runs
};
int collect_for(int socket_fd, const CollectorOptions& options, const CollectFor& how = {});

} // namespace heaptape
