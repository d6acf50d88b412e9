// `heaptape check --mode fail --sweep`: a run for each allocation that could fail.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heaptape::cli {

struct FailSweep {
  std::string heaptape{};             // our own program
  std::vector<std::string> options{}; // of each run: those of the user without the sweep's own
  std::vector<std::string> command{}; // the program and its arguments
  std::uint64_t most_runs = 0;
  bool keep_output = false;
};

// Returns the exit status.
int run_fail_sweep(const FailSweep& sweep);

} // namespace heaptape::cli
