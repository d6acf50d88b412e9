// Folded stacks, as flamegraph.pl, inferno and speedscope read them: "main;load;insert 4096", outermost first.
#pragma once

#include "report/export/export_input.h"
#include "report/export/quantity.h"
#include "report/export/sink.h"

namespace heaptape {

struct FoldedOptions {
  Quantity quantity = Quantity::Peak;
  bool blocks = false; // count blocks, not bytes
};

// One line per distinct sequence of functions, in the order of the text. Of CPU time: microseconds, or with `blocks`
// samples.
void export_folded(const ExportInput& input, const FoldedOptions& options, Sink& sink);

} // namespace heaptape
