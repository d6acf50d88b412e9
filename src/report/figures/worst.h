// The functions that matter most in a list of costs, each with its callers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
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
  // What most of the blocks are, in the singular: made_in(). Only when it was asked for.
  std::string_view noun = "block";
  // For those who know more of the function.
  std::optional<Cost> made{};                // all that it ever made
  std::optional<std::uint64_t> containers{}; // that its blocks were given up by, as they grew
  std::string counted{};                     // stands for "1,024x"
};
struct Worst {
  std::vector<WorstRow> rows; // the most expensive first
  std::size_t others = 0;     // functions that are not in rows
  Cost others_cost{};
  std::string others_counted{}; // stands for "1,024x"
  Cost total{};
};
struct WorstOptions {
  std::size_t rows = 5;
  std::size_t callers = 3;
  Measure measure = Measure::Bytes;
  double least_percent = 0; // smaller ones are not shown, unless all are
  bool nouns = false;       // find out what the blocks are
};
// What the costs of each function come to, by its name; stacks without frames are left out.
std::unordered_map<NameId, Cost> costs_by_function(StackNames& names, std::span<const StackCost> costs);

Worst worst_functions(StackNames& names, std::span<const StackCost> costs, const WorstOptions& options = {});

} // namespace heaptape
