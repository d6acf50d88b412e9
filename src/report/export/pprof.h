// A profile in pprof's format (a protobuf; gzip it): what `go tool pprof` and the profiling servers read. Sample types
// are alloc_objects, alloc_space, inuse_objects, inuse_space (at the end), peak_objects and peak_space.
#pragma once

#include "report/export/export_input.h"
#include "report/export/sink.h"

namespace heaptape {

void export_pprof(const ExportInput& input, Sink& sink);

} // namespace heaptape
