#include "report/export/call_graph.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "base/number_text.h"
#include "report/export/export_input.h"
#include "report/figures/cpu_report.h"
#include "report/figures/tree_text.h"
#include "report/text/time_text.h"

namespace heaptape {
namespace {

struct Node {
  FrameId frame{};
  std::uint64_t self = 0, total = 0;
};
using Key = std::uint32_t; // a function's name
struct Graph {
  std::map<Key, Node> nodes;
  std::map<std::pair<Key, Key>, std::uint64_t> edges; // caller, callee
  std::uint64_t all = 0;
};

Graph build(StackNames& names, std::span<const StackCost> costs) {
  Graph graph;
  for (const StackCost& cost : costs) {
    const std::vector<FrameId> frames = names.frames_of(cost.stack);
    const std::uint64_t us = cost.cost.bytes;
    graph.all += us;
    std::set<Key> seen;
    std::set<std::pair<Key, Key>> calls; // a recursion counts once
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const Key key = names[frames[i]].function.value;
      Node& node = graph.nodes[key];
      if (i == 0) node.self += us;
      if (i == 0 || node.total == 0) node.frame = frames[i];
      if (seen.insert(key).second) node.total += us;
      if (i == 0) continue;
      const std::pair<Key, Key> call{key, names[frames[i - 1]].function.value};
      if (calls.insert(call).second) graph.edges[call] += us;
    }
  }
  return graph;
}

// The most expensive that are worth a box.
std::vector<Key> chosen(const Graph& graph, const CallGraphOptions& options) {
  std::vector<Key> keys;
  const double least = static_cast<double>(graph.all) * options.node_percent / 100;
  for (const auto& [key, node] : graph.nodes) {
    if (static_cast<double>(node.total) >= least) keys.push_back(key);
  }
  std::stable_sort(keys.begin(), keys.end(),
                   [&](Key a, Key b) { return graph.nodes.at(a).total > graph.nodes.at(b).total; });
  keys.resize(std::min(keys.size(), options.most_nodes));
  return keys;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : one_line(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// Long names would make boxes as wide as the page.
std::string box_name(std::string_view name) {
  constexpr std::size_t kWidest = 60;
  std::string line = one_line(name, "|");
  if (line.size() > kWidest) line.replace(kWidest - 3, line.npos, "...");
  return line;
}

} // namespace

void export_call_graph(StackNames& names, std::span<const StackCost> costs, const CallGraphOptions& options,
                       Sink& sink) {
  const Graph graph = build(names, costs);
  const std::vector<Key> keys = chosen(graph, options);
  const std::set<Key> shown(keys.begin(), keys.end());
  const auto share = [&](std::uint64_t us) {
    return graph.all == 0 ? 0 : static_cast<double>(us) / static_cast<double>(graph.all);
  };
  sink.print("digraph cpu {{\n  graph [fontname=\"Helvetica\", labelloc=t, label={}];\n", quoted(options.title));
  sink.add(
      "  node [shape=box, style=filled, fontname=\"Helvetica\"];\n  edge [fontname=\"Helvetica\", fontsize=10];\n");
  for (const Key key : keys) {
    const Node& node = graph.nodes.at(key);
    std::string label = box_name(names.function(node.frame));
    if (const std::string place = frame_location(names, node.frame); !place.empty())
      label += "|" + one_line(place, "|");
    label += "|" + cpu_time_text(node.self) + " (" + percent_text(node.self, graph.all) + ")";
    if (node.total != node.self)
      label += "|of " + cpu_time_text(node.total) + " (" + percent_text(node.total, graph.all) + ")";
    std::string lines = quoted(label);
    // A line of the box each; the names have no bars of their own left.
    for (std::size_t at = lines.find('|'); at != lines.npos; at = lines.find('|', at)) lines.replace(at, 1, "\\n");
    const double own = share(node.self);
    // From grey to red with the share of the whole, larger with the function's own.
    sink.print("  n{} [label={}, fontsize={:.0f}, fillcolor=\"{:.3f} {:.3f} 0.95\"];\n", key, lines,
               8 + 22 * std::sqrt(own), 0.05, std::min(0.6, 0.06 + share(node.total) * 0.5));
  }
  for (const auto& [call, us] : graph.edges) {
    if (!shown.contains(call.first) || !shown.contains(call.second) || share(us) * 100 < options.edge_percent) continue;
    sink.print("  n{} -> n{} [label=\" {}\", penwidth={:.1f}, weight={:.0f}];\n", call.first, call.second,
               cpu_time_text(us), 0.5 + 5 * share(us), 1 + 99 * share(us));
  }
  sink.add("}\n");
}

} // namespace heaptape
