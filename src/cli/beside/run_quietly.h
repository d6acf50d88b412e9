// Runs a command of ours to its end, with a limit, and lets the user break it off.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace heaptape::cli {

enum class RunEnd : unsigned char { Ended, TimedOut, BrokenOff };

struct QuietRun {
  RunEnd end = RunEnd::Ended;
  int status = 0; // the command's exit status; 128 and the signal that killed it
  std::chrono::milliseconds took{};
};

// While one lives, SIGINT, SIGTERM and SIGCHLD wait for run_quietly() to look.
class SignalsHeld {
public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
};

// The command reads nothing, and prints nothing unless `keep_output`. After `limit`, or when the user breaks it off, it and all that it
// has started in its process group is killed. Under SignalsHeld.
Result<QuietRun> run_quietly(const std::vector<std::string>& command, bool keep_output,
                             std::chrono::milliseconds limit);

} // namespace heaptape::cli
