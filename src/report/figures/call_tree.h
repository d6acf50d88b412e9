// Costs of many stacks as one tree: callers below callees (bottom-up) or callees below callers (top-down), pruned to
// what matters. Every node's cost is exactly the sum of its children's, those that stand for pruned places among them;
// a node without children is a place where stacks end.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "analysis/heap/cost.h"
#include "base/ids.h"
#include "report/names/stack_names.h"
#include "report/select/stack_cost.h"

namespace heaptape {

enum class TreeDirection : std::uint8_t { BottomUp, TopDown };
// File and Module join calls within one file or module. Thread and Size divide the whole first, and then by function.
enum class GroupBy : std::uint8_t { Function, Line, File, Module, Thread, Size };
enum class Measure : std::uint8_t { Bytes, Blocks };

struct TreeOptions {
  TreeDirection direction = TreeDirection::BottomUp;
  GroupBy by = GroupBy::Function;
  Measure measure = Measure::Bytes; // that order and threshold go by
  double threshold_percent = 1.0;   // of the whole; smaller places are pruned
  unsigned depth = 0;               // levels shown; 0: all
  bool fold_plumbing = false;       // leave out what works for others: report/names/charged_function.h
  bool changes = false;             // costs are differences, which may be negative (signed_of)
};

enum class TreeNodeKind : std::uint8_t {
  Root,
  Function, // `frame` names it; GroupBy::Line: with one line only
  File,     // `name`: its path
  Module,   // `name`: last part of its path
  Thread,   // `thread`
  Size,     // `size_bucket`
  Itself,   // stacks that end in the parent, while others go on
  NoStack,  // events without a stack
  Cut,      // the outer frames are not known: the stack could not be followed
  TooDeep,  // the outer frames are not known: there were more than are recorded
  Pruned,   // `places` below the threshold
  Deeper,   // `places` below the deepest level shown
};

struct LineCost {
  std::uint32_t line = 0;
  Cost cost;
};
// The most expensive first.
std::vector<LineCost> lines_by_cost(const std::unordered_map<std::uint32_t, Cost>& by_line, Measure measure);

struct TreeNode {
  TreeNodeKind kind = TreeNodeKind::Root;
  Cost cost{};
  FrameId frame{}; // Function: the most expensive of its frames
  NameId name{};   // Function, File, Module
  ThreadId thread{};
  std::uint32_t size_bucket = 0;
  std::uint64_t places = 0;         // Pruned, Deeper: how many children this stands for
  std::vector<LineCost> lines{};    // Function: known lines of the frame's file, the most expensive first
  std::vector<TreeNode> children{}; // the most expensive first; Pruned and Deeper last
  // What shares are of and the threshold goes by: the measured cost. Of changes the sum of them all, those up and those
  // down, so that a place where they cancel out is seen as well.
  std::uint64_t weight = 0;
};

// The root holds the sum of all costs.
TreeNode make_call_tree(StackNames& names, std::span<const StackCost> costs, const TreeOptions& options = {});

// A difference of two costs, which may be negative: Cost counts modulo 2^64.
constexpr std::int64_t signed_of(std::uint64_t difference) { return static_cast<std::int64_t>(difference); }
constexpr std::uint64_t magnitude(std::uint64_t difference) {
  return signed_of(difference) < 0 ? 0 - difference : difference;
}

// What a cost weighs.
constexpr std::uint64_t measured(const Cost& cost, Measure measure) {
  return measure == Measure::Bytes ? cost.bytes : cost.blocks;
}

} // namespace heaptape
