// A process whose threads all stand still, so that its memory can be looked at. It goes on when this object ends, as it was: a system call
// that was interrupted is resumed (one of a few that the kernel does not resume is made again: see repeated_calls.h), a signal that was about to
// come comes.
//
// The kernel ties this to one thread of ours: the one that calls stop() must make all other calls, too, and when it ends, however it ends, the
// process goes on. A thread of the program that does not stop in time (it may wait for a disk) is left alone; it stays tied to us until our
// thread ends, so that should be soon.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "collector/contents/repeated_calls.h"
#include "tape/memory_snapshot.h"

namespace heaptape {

class StoppedProcess {
public:
  // Refused with a sentence that says why: no right, a debugger, no such process. `calls` is the same for all stops of a program, and outlives them.
  static Result<StoppedProcess> stop(pid_t pid, RepeatedCalls& calls);
  // Just one thread of it, for calls; the others run on.
  static Result<StoppedProcess> stop_one_thread(pid_t pid, RepeatedCalls& calls);
  StoppedProcess(StoppedProcess&& other) noexcept;
  StoppedProcess& operator=(StoppedProcess&&) = delete;
  ~StoppedProcess() { release(); }

  // Registers and signals of all threads.
  std::vector<ThreadState> states() const;
  // Lets one thread run for about this long and stops it again. False: it is gone, or does not stop any more.
  bool let_run(pid_t tid, std::uint64_t us);

  // Makes the first thread do a system call; gives its result, or a negative errno. Refused for one with a seccomp filter, which may kill it.
  long call(long number, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0, std::uint64_t d = 0,
            std::uint64_t e = 0, std::uint64_t f = 0);

  struct Twin {
    pid_t pid = 0;    // 0: there is none
    pid_t number = 0; // its pid as the program sees it
  };
  // A child that shares all private memory with the program, copy on write, and never runs. The program's wait() does not see it; it dies
  // with the calling thread.
  Twin make_twin();
  // Ends it. Nothing is left of it; for that one thread of the program stands still for a moment.
  static void end_twin(pid_t program, Twin twin, RepeatedCalls& calls);

  // The program goes on.
  void release();

private:
  struct Stopped {
    pid_t tid = 0;
    int signal = 0; // that it gets when it goes on
    int event = 0;  // a PTRACE_EVENT of its last stop; 0: none
    unsigned stops = 1;
  };

  StoppedProcess(pid_t pid, RepeatedCalls& calls) : pid_(pid), calls_(&calls) {}
  Result<> seize(pid_t tid, std::vector<pid_t>& fresh);
  void wait_for(std::vector<pid_t> fresh);
  bool wait_for_stop(Stopped& thread, std::uint64_t most_us);
  void take_signal_first();
  void give_up(pid_t tid);
  bool find_call_instruction();
  bool run_to_the_end_of_a_call(Stopped& thread);

  pid_t pid_;
  std::vector<Stopped> threads_;
  std::vector<pid_t> unstopped_;
  std::uint64_t call_instruction_ = 0;
  RepeatedCalls* calls_;
  unsigned long made_ = 0; // process or thread that the last call made
};

// One that still runs: the first thread of a process may end before the others, and its memory is then reached through these.
pid_t living_thread(pid_t pid);

// Whether a thread of the process has a seccomp filter; then it must not be made to do system calls.
bool has_seccomp(pid_t pid);

} // namespace heaptape
