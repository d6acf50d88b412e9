// Tape names: from the user's pattern to a file that can be created.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>

#include "base/result.h"
#include "collector/options/collector_options.h"
#include "tape/writer.h"

namespace heaptape {

struct TapeNameFacts {
  std::uint32_t pid = 0;
  std::string program; // path or name; only the last part is used
  std::time_t start = 0;
};

// %p pid, %n program name, %t start (local time, YYYYMMDD-HHMMSS), %% a percent sign; anything else stays as it is.
std::string expand_tape_name(const std::string& pattern, const TapeNameFacts& facts);

// The name with .2, .3, ... before ".tape" (or at the end).
std::string numbered_tape_name(const std::string& name, unsigned number);

// Creates the tape. A name the user did not choose, and that is taken, is numbered; one the user chose is an error
// unless --force was given.
Result<TapeWriter> create_tape(const CollectorOptions& options, const TapeNameFacts& facts,
                               std::uint64_t start_realtime_ns);

// Whether a tape could be created there: the folder exists and may be written.
Result<> check_tape_folder(const std::string& pattern);

} // namespace heaptape
