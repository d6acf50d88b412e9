// A flame graph as one SVG file: the functions that call stand above those they call, each as wide as its share. In a
// browser a click zooms and words can be searched; elsewhere it is a plain picture. Nothing is loaded from anywhere.
#pragma once

#include "report/export/export_input.h"
#include "report/export/quantity.h"
#include "report/export/sink.h"

namespace heaptape {

struct FlameSvgOptions {
  Quantity quantity = Quantity::Peak;
  bool blocks = false; // count blocks, not bytes; of CPU time: samples, not microseconds
};

// Functions that would be narrower than a hundredth of a percent or so are not drawn; those above them are as wide as
// all they hold.
void export_flame_svg(const ExportInput& input, const FlameSvgOptions& options, Sink& sink);

} // namespace heaptape
