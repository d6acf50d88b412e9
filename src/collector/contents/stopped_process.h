// A process whose threads all stand still, so that its memory can be looked at. It goes on when this object ends, as it was: a system call
// that was interrupted is resumed, a signal that was about to come comes.
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
#include "tape/memory_snapshot.h"

namespace heaptape {

class StoppedProcess {
public:
  // Refused with a sentence that says why: no right, a debugger, no such process.
  static Result<StoppedProcess> stop(pid_t pid);
  StoppedProcess(StoppedProcess&& other) noexcept;
  StoppedProcess& operator=(StoppedProcess&&) = delete;
  ~StoppedProcess() { release(); }

  // Registers and signals of all threads.
  std::vector<ThreadState> states() const;
  // Lets one thread run for about this long and stops it again. False: it is gone, or does not stop any more.
  bool let_run(pid_t tid, std::uint64_t us);

  // Makes the first thread do a system call; gives its result, or a negative errno. Not for a program with a seccomp filter, which may kill it.
  long call(long number, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0, std::uint64_t d = 0,
            std::uint64_t e = 0, std::uint64_t f = 0);
  // A child that shares all private memory with the program, copy on write, and never runs. The program's wait() does not see it; it dies
  // with us. The caller kills and reaps it. A negative result is an errno.
  pid_t make_twin();

  // The program goes on.
  void release();

private:
  struct Stopped {
    pid_t tid = 0;
    int signal = 0; // that it gets when it goes on
    int event = 0;  // a PTRACE_EVENT of its last stop; 0: none
  };

  explicit StoppedProcess(pid_t pid) : pid_(pid) {}
  Result<> seize(pid_t tid, std::vector<pid_t>& fresh);
  void wait_for(std::vector<pid_t> fresh);
  bool wait_for_stop(Stopped& thread, std::uint64_t most_us);
  bool find_call_instruction();
  void give_back_registers();

  pid_t pid_;
  std::vector<Stopped> threads_;
  std::vector<pid_t> unstopped_;
  std::uint64_t call_instruction_ = 0;
  ThreadState own_registers_{}; // of the first thread, while it runs calls of ours
  bool borrowed_ = false;
  unsigned long made_ = 0; // process or thread that the last call made
};

// Whether a thread of the process has a seccomp filter; then it must not be made to do system calls.
bool has_seccomp(pid_t pid);

} // namespace heaptape
