// Functions as boxes and calls as arrows between them, as Graphviz draws them: larger boxes have more time of their
// own, thicker arrows more time behind them.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "report/export/sink.h"
#include "report/figures/call_tree.h"
#include "report/names/stack_names.h"

namespace heaptape {

struct CallGraphOptions {
  std::string title{};
  double node_percent = 0.5; // functions with less of the whole, calls included, are left out,
  double edge_percent = 0.1; // and so are calls with less
  std::size_t most_nodes = 80;
};

// Costs of CPU time (cpu_costs()). In Graphviz's language.
void export_call_graph(StackNames& names, std::span<const StackCost> costs, const CallGraphOptions& options,
                       Sink& sink);

} // namespace heaptape
