// The process that the collector runs in: its session, its descriptors, its limits, its sign of life.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "collector/rings/shared_memory.h"
#include "wire/layout.h"

namespace heaptape {

// Holds the mutex by which the program sees that the collector lives; the calling thread must be the process's main one, and the page must
// stay mapped for as long as it lives.
void hold_life_mutex(wire::Header& header);

// Makes the process a collector: a session of its own, deaf to the terminal's signals, no descriptor but stderr and
// `keep`, and holding the mutex by which the program sees that it lives. The calling thread must be the process's main
// one.
void prepare_collector_process(const SharedMemory& memory, int keep);

// After that: whether the process may open as many files, and have as much memory, as a collector needs.
Result<> check_limits();

// "the limit on data (ulimit -d)": what bounds the memory of a process, 0 for this one; empty: nothing does.
std::string limit_on_memory(pid_t process);

// How many seconds of CPU time this process may take at most; 0: as many as it likes.
std::uint64_t cpu_seconds_allowed();
// There is one, and this process has used nearly all of it: what is left is for the tape's end.
bool cpu_time_runs_out();

} // namespace heaptape
