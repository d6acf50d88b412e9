// Tables for spreadsheets and scripts, as RFC 4180 wants them: one row per stack, or one per event.
#pragma once

#include "report/export/export_input.h"
#include "report/export/sink.h"

namespace heaptape {

// Figures of every stack that made a block, by id.
void export_csv(const ExportInput& input, Sink& sink);
// Every event in order, with the id of its stack; reads the whole tape.
void export_events_csv(const ExportInput& input, Sink& sink);

} // namespace heaptape
