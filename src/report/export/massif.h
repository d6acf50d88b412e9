// A massif.out file, for ms_print and massif-visualizer: the heap over time, with call trees at sixteen evenly spaced
// moments and at the peak. Made from the index alone.
#pragma once

#include "report/export/export_input.h"
#include "report/export/sink.h"

namespace heaptape {

struct MassifOptions {
  double threshold_percent = 1.0; // places with less of a snapshot are joined
};

void export_massif(const ExportInput& input, const MassifOptions& options, Sink& sink);

} // namespace heaptape
