// One page with everything, for any browser, offline: overview, the heap over time, a flame graph, tables. Its size
// does not grow with the number of events: the flame graph keeps the most expensive places up to a limit, and says how
// many it left out.
#pragma once

#include "report/export/export_input.h"
#include "report/export/sink.h"

namespace heaptape {

void export_html(const ExportInput& input, Sink& sink);

} // namespace heaptape
