// Whether somebody still writes a tape.
#pragma once

#include <string>

namespace heaptape::cli {

// Asks the kernel which files the collectors have open, not the collectors: one that is putting names and the index on its tape
// answers nobody any more, but is not gone.
bool is_being_written(const std::string& tape);

} // namespace heaptape::cli
