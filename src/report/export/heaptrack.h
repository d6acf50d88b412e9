// A data file as heaptrack writes after its interpreter, file version 3: every allocation and release in order, for
// heaptrack_print and heaptrack_gui. Reads all events; needs memory for the live blocks and the stacks only.
#pragma once

#include "report/export/export_input.h"
#include "report/export/sink.h"

namespace heaptape {

// heaptrack knows no realloc: the old block is released, then the new one allocated. Releases of blocks that are not on
// the tape are left out, as are mappings and threads, which its format cannot hold.
void export_heaptrack(const ExportInput& input, Sink& sink);

} // namespace heaptape
