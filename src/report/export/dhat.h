// DHAT's JSON, version 2, as dh_view.html reads it. Reads all events once more: DHAT wants to know the most that each
// stack alone had live, which no other answer needs. What DHAT knows of accesses to blocks is left out, and the file
// says so.
#pragma once

#include "report/export/export_input.h"
#include "report/export/sink.h"

namespace heaptape {

void export_dhat(const ExportInput& input, Sink& sink);

} // namespace heaptape
