// Whether a tape is still being written.
#pragma once

#include <string>

#include "base/result.h"
#include "report/pages/run.h"

namespace heaptape::cli {

// Asks the kernel which files the collectors have open, not the collectors themselves: one that is putting names and
// the index on its tape no longer answers, but is not gone.
bool is_being_written(const std::string& tape);

// read_run(), and which of its processes are still being recorded.
Result<Run> read_run_now(const std::string& folder);

// Nobody does, as far as this user can tell.
bool is_abandoned(const std::string& tape);

} // namespace heaptape::cli
