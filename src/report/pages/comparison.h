// `heaptape diff`: two tapes, or two moments, compared stack by stack.
#pragma once

#include <string>
#include <vector>

#include "report/figures/costs.h"
#include "report/figures/heap_diff.h"
#include "report/select/frame_filter.h"
#include "report/view/tape_view.h"

namespace heaptape {

struct ComparedSide {
  const TapeView& view;
  std::string label; // the tape, or the moment
  std::vector<StackCost> costs{};
};

// The views must outlive it. They are the same one where moments are compared.
struct Comparison {
  std::string what; // "Live at the peak"
  ComparedSide before, after;
};

// Both take stacks that the filter accepts.
Comparison compare_tapes(const TapeView& before, const TapeView& after, CostKind kind, FrameFilter& filter);
// What was live at a moment of each, which may be the same tape.
Comparison compare_moments(const TapeView& before, const Moment& from, const TapeView& after, const Moment& to,
                           FrameFilter& filter);

std::string comparison_text(const Comparison& comparison, const DiffText& options);
// One object on a line.
std::string comparison_json(const Comparison& comparison);

} // namespace heaptape
