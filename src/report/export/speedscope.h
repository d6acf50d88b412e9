// speedscope's own file format: one profile per quantity, each stack a sample whose weight is its cost.
#pragma once

#include "report/export/export_input.h"
#include "report/export/sink.h"

namespace heaptape {

void export_speedscope(const ExportInput& input, Sink& sink);

} // namespace heaptape
