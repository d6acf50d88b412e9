// The processes of a run as a tree, for people and for programs.
#pragma once

#include <cstddef>
#include <string>

#include "report/pages/run.h"
#include "report/text/text_style.h"

namespace heaptape {

// One line per process: its name (children indented), process id, events, peak and how it ended; the one that commands open is marked. With
// more than `most_lines` (0: no limit) those with the largest peaks are shown, and the processes above them.
std::string run_tree_text(const Run& run, std::size_t most_lines, const TextStyle& style);

// "3 processes", "1 process".
std::string processes_text(const Run& run);

// All programs of all processes, as one JSON object.
std::string run_json(const Run& run);

} // namespace heaptape
