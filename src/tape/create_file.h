// The file of a new tape. Private to tape/.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace heaptape {

// A new, empty file of this name, open for reading and writing, that only its user may read. Never writes into anything
// that was there: a file of that name is replaced when `overwrite` says so, in one step, so that whoever has it open
// keeps it; a link, pipe, device, socket or folder is refused either way. Errors are sentences about a tape.
Result<UniqueFd> create_tape_file(const std::string& path, bool overwrite);

} // namespace heaptape
