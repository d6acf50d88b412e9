// The list of a run's processes, RUN/processes.jsonl: a line when a program's recording begins and one when its tape is finished, each one
// write at the end of the file. For people, for programs, and for whoever waits for the run's end; the truth is on the tapes.
//
//   {"start":COLLECTOR,"pid":PID,"parent_pid":..,"name":"cc1plus","tape":"cc1plus.4712.tape","started_by":"spawn","time_ns":..}
//   {"end":COLLECTOR,"pid":PID,"name":"cc1plus","tape":"cc1plus.4712.tape","events":..,"peak_bytes":..,"ending":"exited","detail":0}
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "tape/contents.h"

namespace heaptape {

struct RunListStart {
  pid_t pid = 0, parent = 0;
  std::string name, tape, started_by;
  std::uint64_t time_ns = 0; // wall clock
};

// Both do nothing without a folder, and when the line cannot be written. `tape` is the last part of its path.
void list_start(const std::string& folder, const RunListStart& start);
void list_end(const std::string& folder, pid_t pid, const std::string& name, const std::string& tape,
              const Summary& summary);

} // namespace heaptape
