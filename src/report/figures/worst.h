// The functions that matter most in a list of costs, each with its callers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "report/figures/call_tree.h"
#include "report/names/charged_function.h"

namespace heaptape {

struct WorstRow {
  FrameId frame{};       // the most expensive of the function's
  bool has_frame = true; // false: the stacks are empty
  Cost cost{};
  std::vector<LineCost> lines{};  // known ones of the frame's file, the most expensive first
  std::vector<FrameId> callers{}; // the most expensive way outwards, without plumbing
};
struct Worst {
  std::vector<WorstRow> rows; // the most expensive first
  std::size_t others = 0;     // functions that are not in rows
  Cost others_cost{};
  Cost total{};
};
struct WorstOptions {
  std::size_t rows = 5;
  std::size_t callers = 3;
  Measure measure = Measure::Bytes;
  double least_percent = 0; // smaller ones are not shown, unless all are
};
Worst worst_functions(StackNames& names, std::span<const StackCost> costs, const WorstOptions& options = {});

} // namespace heaptape
