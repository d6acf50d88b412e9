// The JSON that gprof2dot reads with -f json: functions, and a call chain with its cost for every stack.
#pragma once

#include <span>

#include "report/export/export_input.h"
#include "report/export/quantity.h"
#include "report/export/sink.h"

namespace heaptape {

void export_gprof2dot(const ExportInput& input, std::span<const CostOfStack> costs, Sink& sink);

} // namespace heaptape
