// Runs one program with the recorder loaded and a collector beside it.
//
//   heaptape record ──fork──► collector (own session, no exec)      collector_process.h
//          └──────────fork──► program (our process group, terminal and descriptors; LD_PRELOAD, the shared memory's fd)
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "collector/launch/launch_environment.h"
#include "collector/launch/program_search.h"

namespace heaptape {

struct Launch {
  Program program;
  std::string name; // what the user typed: the tape's name is made of its last part, and messages show it
  RecordOptions options;
  std::string library;  // see RecorderLink
  std::string heaptape; // see RecorderLink
  // Called when the tape is created and the program about to run. May be empty.
  std::function<void(const std::string& tape)> started{};
};

// The shell's exit statuses for a program that could not be run.
inline constexpr int kCannotExecute = 126;
inline constexpr int kNotFound = 127;

// What a shell would end with: the exit status, or 128 + the signal that killed the program.
int exit_status_of(int wait_status);

struct LaunchOutcome {
  int exit_status = 0;  // exit_status_of() the program, or one of the two above
  std::string sentence; // why the program could not be executed; empty when it was
};

// Runs the program to its end and waits until its tape is finished. Call it once, while the process has one thread.
// Error: the recording could not begin, for instance because the tape cannot be created, and the program was not run;
// Exhausted: for want of descriptors, memory or processes, which the program may not need. Then run_unrecorded() may follow.
Result<LaunchOutcome> launch(const Launch& launch);

// Becomes the program, unrecorded. Returns only when that fails.
LaunchOutcome run_unrecorded(const Program& program, const char* const* environment);

} // namespace heaptape
