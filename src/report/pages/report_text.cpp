#include "report/pages/report_text.h"

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/figures/tree_text.h"
#include "report/leaks/leak_text.h"
#include "report/pages/runtime_text.h"
#include "report/text/change_text.h"
#include "report/text/json_writer.h"
#include "report/text/mark_text.h"

namespace heaptape {
namespace {

constexpr std::size_t kCostRows = 20;

// On a narrow terminal the size goes below the title, without its exact form when even that is too long.
std::string heading(const ReportTree& tree, const TextStyle& style) {
  const bool changes = tree.options.changes;
  const std::uint64_t bytes = tree.total.bytes;
  const std::string blocks = changes ? ", " + signed_count_text(signed_of(tree.total.blocks)) +
                                           (magnitude(tree.total.blocks) == 1 ? " block" : " blocks")
                                     : " in " + count_of(tree.total.blocks, "block");
  const std::string size = (changes ? signed_exact_bytes_text(signed_of(bytes)) : exact_bytes_text(bytes)) + blocks;
  if (style.width == 0 || columns_of(tree.title) + 2 + columns_of(size) <= style.width)
    return style.bold(tree.title) + ": " + size + "\n";
  const bool fits = columns_of(size) + 2 <= style.width;
  return style.bold(shortened(tree.title, style.width)) + "\n  " +
         (fits ? size : (changes ? signed_bytes_text(signed_of(bytes)) : bytes_text(bytes)) + blocks) + "\n";
}

// What was set apart: together with the tree it is everything.
std::string runtime_text(const ReportTree& tree, const TextStyle& style) {
  if (tree.runtime.empty()) return {};
  const Cost sum = sum_of(tree.runtime);
  const std::string line = "besides " + with_separators(sum.bytes) + "B, " + with_separators(sum.blocks) +
                           "x of the runtime's own: " + runtime_pools_text(tree.runtime);
  return style.dim(style.width != 0 ? shortened(line, style.width) : line) + "\n";
}

std::string suppressions_text(const std::vector<Suppression>& used) {
  if (used.empty()) return {};
  std::string out = "\nSuppressions used:\n  count      bytes template\n";
  for (const Suppression& entry : used)
    out += fmt::format("{:>7} {:>10} {}\n", entry.used.blocks, entry.used.bytes, printable(entry.name));
  return out;
}

void write_moments_json(JsonWriter& json, const std::vector<Mark>& marks) {
  json.begin_array();
  for (const Mark& mark : moments_of(marks)) {
    json.begin_object();
    write_mark_fields(json, mark);
    json.end_object();
  }
  json.end_array();
}

void write_report_tree_json(JsonWriter& json, const TapeView& view, const ReportTree& tree) {
  json.begin_object().field("name", std::string_view(tree.name)).field("title", std::string_view(tree.title));
  if (tree.options.changes)
    json.field("bytes", signed_of(tree.total.bytes)).field("blocks", signed_of(tree.total.blocks));
  else
    json.field("bytes", tree.total.bytes).field("blocks", tree.total.blocks);
  write_tree_json(json.key("tree"), view.names(), view.tape().threads(),
                  make_call_tree(view.names(), tree.costs, tree.options),
                  tree.options.changes ? TreeUnit::Changes : TreeUnit::Heap);
  if (!tree.runtime.empty()) write_runtime_json(json.key("runtime"), tree.runtime);
  json.end_object();
}

} // namespace

std::string report_text(const TapeView& view, const ReportPage& page, const ReportText& options) {
  const TextStyle& style = options.style;
  std::string out;
  if (page.overview) {
    out += overview_text(view, *page.overview, style) + "\n";
    if (const std::string moments = moments_text(view.marks(), style); !moments.empty()) out += moments + "\n";
  }
  if (page.cost) out += allocation_cost_text(view, *page.cost, kCostRows, style) + (page.trees.empty() ? "" : "\n");
  if (page.leaks) {
    StackText stacks(view.names());
    out += leak_text(*page.leaks, stacks, style, options.leak_rows);
  }
  for (const ReportTree& tree : page.trees) {
    if (!tree.in_text) continue;
    if (!out.empty() && !out.ends_with("\n\n")) out += "\n";
    out += heading(tree, style);
    out += tree_text(view.names(), view.tape().threads(), make_call_tree(view.names(), tree.costs, tree.options),
                     {.tree = tree.options, .style = style, .expand = options.expand});
    out += runtime_text(tree, style);
  }
  if (!page.leaks_hint.empty()) out += "\n" + style.dim(page.leaks_hint) + "\n";
  return folded_lines(out + suppressions_text(page.suppressions), style.width);
}

std::string report_json(const TapeView& view, const ReportPage& page) {
  JsonWriter json;
  json.begin_object().field("tape", std::string_view(view.path()));
  if (page.overview) {
    write_overview_json(json, view, *page.overview);
    write_moments_json(json.key("marks"), view.marks());
  }
  if (page.cost) write_allocation_cost_json(json.key("cost"), view, *page.cost);
  if (page.leaks) {
    StackText stacks(view.names());
    write_leak_json(json.key("leaks"), *page.leaks, stacks);
  }
  json.key("trees").begin_array();
  for (const ReportTree& tree : page.trees) write_report_tree_json(json, view, tree);
  json.end_array().key("suppressions").begin_array();
  for (const Suppression& entry : page.suppressions) {
    json.begin_object().field("name", std::string_view(entry.name));
    json.field("bytes", entry.used.bytes).field("blocks", entry.used.blocks).end_object();
  }
  json.end_array().end_object();
  return json.text() + "\n";
}

} // namespace heaptape
