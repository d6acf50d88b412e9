#include "report/figures/allocation_cost.h"

#include <algorithm>
#include <map>

#include "analysis/moment/heap_calls.h"
#include "base/number_text.h"
#include "report/figures/cpu_report.h"
#include "report/names/recorder_code.h"
#include "report/names/stack_text.h"

namespace heaptape {
namespace {

void add(AllocationCostRow& sum, const AllocationCostRow& row) {
  sum.time += row.time;
  sum.recorder += row.recorder;
  sum.allocations += row.allocations;
  sum.releases += row.releases;
}

struct NamedRow {
  std::string name;
  AllocationCostRow row;
};

// Stacks that differ only in what a row does not show are one row. The most expensive first.
std::vector<NamedRow> rows_by_name(StackText& stacks, const std::vector<AllocationCostRow>& rows) {
  std::vector<NamedRow> named;
  std::map<std::string, std::size_t> places;
  for (const AllocationCostRow& row : rows) {
    const std::string name = stacks.chain(row.stack);
    const auto [found, is_new] = places.try_emplace(name, named.size());
    if (is_new)
      named.push_back({name, row});
    else
      add(named[found->second].row, row);
  }
  std::stable_sort(named.begin(), named.end(),
                   [](const NamedRow& a, const NamedRow& b) { return a.row.time.us > b.row.time.us; });
  return named;
}

} // namespace

AllocationCost make_allocation_cost(const TapeView& view, FrameFilter& filter) {
  StackNames& names = view.names();
  const std::vector<StackNode>& stacks = view.tape().stacks();
  const RecorderCode recorder(view.tape().modules(), stacks);
  const HeapCalls calls = count_heap_calls(view.tape());
  AllocationCost cost;
  std::map<StackId, AllocationCostRow> rows;
  for (const StackTime& each : cpu_times(view.tape().cpu())) {
    cost.all += each.time;
    const StackId caller = heap_call_around(stacks, calls, each.stack);
    if (caller.value == 0 || !filter.accepts(names, caller)) continue;
    AllocationCostRow& row = rows[caller];
    cost.allocating += each.time;
    row.time += each.time;
    if (!recorder.holds_innermost(each.stack)) continue;
    cost.recorder += each.time;
    row.recorder += each.time;
  }
  for (auto& [stack, row] : rows) {
    row.stack = stack;
    row.allocations = calls.at(stack).allocations;
    row.releases = calls.at(stack).releases;
    cost.rows.push_back(row);
  }
  std::stable_sort(cost.rows.begin(), cost.rows.end(),
                   [](const AllocationCostRow& a, const AllocationCostRow& b) { return a.time.us > b.time.us; });
  return cost;
}

std::string allocation_cost_text(const TapeView& view, const AllocationCost& cost, std::size_t rows,
                                 const TextStyle& style) {
  std::string out = style.bold("CPU time in allocation functions: " + cpu_time_text(cost.allocating.us)) + " of " +
                    cpu_time_text(cost.all.us) + " (" + percent_text(cost.allocating.us, cost.all.us) + ")\n";
  if (cost.recorder.us != 0) {
    out += "  " + cpu_time_text(cost.recorder.us) + " of it in the recorder, absent when nothing is recorded\n";
  }
  if (cost.rows.empty()) return out;
  out += padded_right("share", 8) + padded_right("CPU time", 10) + padded_right("recorder", 10) +
         padded_right("allocations", 13) + padded_right("frees", 13) + "  called from\n";
  StackText stacks(view.names());
  const auto line = [&](const AllocationCostRow& row, const std::string& name) {
    const std::string text =
        padded_right(percent_text(row.time.us, cost.allocating.us), 8) + padded_right(cpu_time_text(row.time.us), 10) +
        padded_right(cpu_time_text(row.recorder.us), 10) + padded_right(with_separators(row.allocations), 13) +
        padded_right(with_separators(row.releases), 13) + "  ";
    const std::size_t taken = columns_of(text);
    const std::size_t room = style.width == 0 ? columns_of(name) : style.width > taken ? style.width - taken : 0;
    const std::string shown = shortened(name, room);
    out += text + (row.time.us * 10 >= cost.allocating.us ? style.bold(shown) : shown) + "\n";
  };
  const std::vector<NamedRow> named = rows_by_name(stacks, cost.rows);
  AllocationCostRow rest;
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (i < rows)
      line(named[i].row, named[i].name);
    else
      add(rest, named[i].row);
  }
  if (named.size() > rows) line(rest, "in " + count_of(named.size() - rows, "other place"));
  return out;
}

void write_allocation_cost_json(JsonWriter& json, const TapeView& view, const AllocationCost& cost) {
  StackText stacks(view.names());
  json.begin_object().field("cpu_us", cost.all.us).field("allocating_us", cost.allocating.us);
  json.field("recorder_us", cost.recorder.us).key("stacks").begin_array();
  for (const AllocationCostRow& row : cost.rows) {
    json.begin_object().field("cpu_us", row.time.us).field("recorder_us", row.recorder.us);
    json.field("samples", row.time.samples).field("allocations", row.allocations).field("releases", row.releases);
    json.key("stack");
    stacks.write_json(json, row.stack);
    json.end_object();
  }
  json.end_array().end_object();
}

} // namespace heaptape
