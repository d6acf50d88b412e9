// All stacks as one tree of functions, outermost first, small enough to be sent somewhere: with what each place costs
// by every quantity, and only the places that weigh most.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/index/findings.h"
#include "report/export/quantity.h"
#include "report/names/stack_names.h"

namespace heaptape {

// By Quantity.
using Costs = std::array<Cost, kQuantities.size()>;
Costs& operator+=(Costs& sum, const Costs& more);
Costs costs_of(const Figures& figures);

struct FlameNode {
  std::uint32_t parent = 0; // index of the caller's node, which comes before; the root's is its own
  FrameId frame{};          // one of those that came by here
  std::string_view text{};  // when it is not a function: a stand-in, see stand_in()
  std::uint32_t joined = 0; // not 0: stands for this many places left out, all below the parent
  Costs own{};              // of stacks that end here
};

struct FlameTree {
  std::vector<FlameNode> nodes; // [0] is the root
  std::size_t places = 0;       // nodes before any were joined
};

// Joins places until no more than `most` and one per parent are left, those first whose share of every quantity is
// smallest. Sums are kept: the costs of all nodes together are always those of all stacks. With `fold_plumbing` there are
// only functions that decide something, and each pool of a runtime is one place below the root.
FlameTree make_flame_tree(const Findings& findings, StackNames& names, std::size_t most, bool fold_plumbing = false);

} // namespace heaptape
