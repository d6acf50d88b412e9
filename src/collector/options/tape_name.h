// Tape names: from the user's pattern to a file that can be created.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

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

// The folder of the run that the options ask for, made if need be.
Result<std::string> make_run_folder(const CollectorOptions& options, const TapeNameFacts& facts);
// Whether a name that the user gave with --follow is that of a folder: it does not end in .tape, and is not a different one for each process.
bool names_run(const std::string& output);
// A folder's name as part of a tape's name, where % has a meaning.
std::string as_pattern(std::string_view folder);

// Whether this can be the name of a tape: not "-", for a tape is not a stream, and not that of a folder.
Result<> check_tape_name(const std::string& pattern);

// Whether a tape could be created there: the folder exists and may be written.
Result<> check_tape_folder(const std::string& pattern);

} // namespace heaptape
