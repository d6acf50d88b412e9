// The export of a tape as a tape.
#pragma once

#include <string>

#include "cli/options/choose_tape.h"

namespace heaptape::cli {

struct TapeExport {
  std::string output; // empty: standard output or, on a terminal, a file named after the tape
  bool force = false;
  bool with_contents = true; // what the program's memory held
};

// The result is the exit status.
int export_as_tape(TapeChoice& choice, TapeExport options);

} // namespace heaptape::cli
