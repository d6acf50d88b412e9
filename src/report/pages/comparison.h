// `heaptape diff`: two tapes, or two moments of one, compared stack by stack.
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
// Moments as in report/view/position.h; empty ones are the start and the end.
Result<Comparison> compare_moments(const TapeView& view, const std::string& from, const std::string& to,
                                   FrameFilter& filter);

std::string comparison_text(const Comparison& comparison, const DiffText& options);
// One object on a line.
std::string comparison_json(const Comparison& comparison);

} // namespace heaptape
