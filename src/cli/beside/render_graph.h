// Pictures of graphs, drawn by Graphviz if it is there.
#pragma once

#include <string>

#include "base/result.h"

namespace heaptape::cli {

// Runs `dot -Tformat` over a graph and gives what it wrote. An error when dot is not installed or fails: one sentence.
Result<std::string> render_graph(const std::string& graph, const std::string& format);

} // namespace heaptape::cli
