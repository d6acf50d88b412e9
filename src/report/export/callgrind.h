// A profile in callgrind's format, for callgrind_annotate and KCachegrind: what each line allocated itself and what its
// calls did.
#pragma once

#include "report/export/export_input.h"
#include "report/export/sink.h"

namespace heaptape {

void export_callgrind(const ExportInput& input, Sink& sink);

} // namespace heaptape
