#include "report/export/quantity.h"

#include <map>

#include "analysis/moment/heap_cursor.h"
#include "analysis/moment/moments.h"

namespace heaptape {

std::vector<CostOfStack> costs_of(const Findings& findings, Quantity quantity) {
  std::vector<CostOfStack> costs;
  for (const StackFigures& figures : findings.by_stack) {
    if (const Cost cost = cost_of(figures, quantity); cost != Cost{}) costs.push_back({figures.stack, cost});
  }
  return costs;
}

std::vector<CostOfStack> costs_at(const ExportInput& input, std::uint64_t event) {
  HeapCursor cursor(input.tape, input.index);
  cursor.seek_event(event);
  std::vector<CostOfStack> costs;
  for (const OwnerCost& owner : live_by_owner(cursor.state())) {
    if (costs.empty() || costs.back().stack != owner.owner.stack) costs.push_back({owner.owner.stack, {}});
    costs.back().cost += owner.cost;
  }
  return costs;
}

std::vector<CostOfStack> change_between(const ExportInput& input, std::uint64_t earlier, std::uint64_t later) {
  std::map<StackId, Cost> changes;
  for (const CostOfStack& row : costs_at(input, later)) changes[row.stack] += row.cost;
  for (const CostOfStack& row : costs_at(input, earlier)) changes[row.stack] -= row.cost;
  std::vector<CostOfStack> costs;
  for (const auto& [stack, cost] : changes) {
    if (cost != Cost{}) costs.push_back({stack, cost});
  }
  return costs;
}

} // namespace heaptape
