// What `heaptape check` says when the program has ended.
#pragma once

#include <string>
#include <vector>

namespace heaptape::cli {

struct FindingsWanted {
  std::vector<std::string> suppression_files{};
  bool leaks = false; // and what is lost
  bool quiet = false; // nothing when nothing was found
};

// Prints the errors on a tape to standard error. True: there are some, or lost blocks that were asked for.
bool tell_findings(const std::string& tape, const FindingsWanted& wanted);
// The same for all processes of a run.
bool tell_findings_of_run(const std::string& folder, const FindingsWanted& wanted);

} // namespace heaptape::cli
