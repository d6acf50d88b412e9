// The heap over time as numbers, at the finest resolution of the tape's index.
#pragma once

#include <string>

#include "report/view/tape_view.h"

namespace heaptape {

// A line of titles, then one per stretch of time.
std::string timeline_csv(const TapeView& view);
// One object with an array per figure, and the program's marks.
std::string timeline_json(const TapeView& view);

} // namespace heaptape
