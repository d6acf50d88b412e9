#include "analysis/moment/moments.h"

#include <algorithm>

#include "analysis/moment/heap_cursor.h"

namespace heaptape {

std::vector<OwnerCost> live_by_owner(const HeapState& state) {
  std::vector<OwnerCost> all;
  all.reserve(state.owners().size());
  for (const Owner& owner : state.owners().owners()) all.push_back({owner, {}});
  state.blocks().for_each([&](const Block& block) { all[block.owner].cost += Cost::of(block.size); });
  std::erase_if(all, [](const OwnerCost& row) { return row.cost == Cost{}; });
  std::sort(all.begin(), all.end(), [](const OwnerCost& a, const OwnerCost& b) { return a.owner < b.owner; });
  return all;
}

std::vector<WindowFigures> window_figures(const TapeReader& tape, const Index& index, Window window) {
  OwnerTable owners;
  std::vector<WindowFigures> figures;
  const auto row_of = [&](Owner owner) -> WindowFigures& {
    const std::uint32_t number = owners.number_of(owner);
    if (number == figures.size()) figures.emplace_back().owner = owner;
    return figures[number];
  };
  EventCursor cursor = tape.events(window.after + 1);
  while (const Event* event = cursor.next()) {
    if (event->number > window.until) break;
    const bool makes_block = event->address != 0 && (is_allocation(event->kind) || is_reallocation(event->kind));
    if (makes_block) row_of({event->stack, event->thread}).allocated += Cost::of(event->size);
  }
  HeapCursor heap(tape, index);
  heap.seek_event(window.until);
  heap.state().blocks().for_each([&](const Block& block) {
    if (block.event > window.after) row_of(heap.owner_of(block)).live += Cost::of(block.size);
  });
  std::sort(figures.begin(), figures.end(),
            [](const WindowFigures& a, const WindowFigures& b) { return a.owner < b.owner; });
  return figures;
}

} // namespace heaptape
