// The lists of costs that reports are made of.
#pragma once

#include <cstdint>
#include <vector>

#include "report/figures/call_tree.h"
#include "report/select/filter.h"
#include "report/view/tape_view.h"

namespace heaptape {

enum class CostKind : std::uint8_t {
  Leaks,       // still live at the end
  Peak,        // live at the peak
  Allocations, // ever allocated
  Temporary,   // freed by the thread that made them as its very next event
};
// What they are called: "leaks", "peak", "allocations", "temporary".
const char* cost_kind_name(CostKind kind);
// What reports of this kind are ordered by: temporary blocks cost their calls, all others their bytes.
Measure measure_of(CostKind kind);

// By stack and thread. With sizes also by the blocks' sizes, for which events have to be read. With a filter on blocks,
// of those alone that it accepts; unless it looks at stacks and threads only, all events are read for that. It is asked
// about blocks as they were at the moment that the list is about: the end for Allocations and Temporary.
enum class Sizes : bool { Together, Apart };
std::vector<StackCost> costs_of(const TapeView& view, CostKind kind, Sizes sizes = Sizes::Together,
                                Filter* filter = nullptr);

// What was live at a moment.
std::vector<StackCost> live_costs(const TapeView& view, const Moment& moment, Sizes sizes = Sizes::Together,
                                  Filter* filter = nullptr);

// What was allocated after one moment and up to another; all of it, or what was still live at the latter.
enum class WindowPart : std::uint8_t { All, StillLive };
std::vector<StackCost> window_costs(const TapeView& view, const Moment& from, const Moment& to, WindowPart part,
                                    Sizes sizes = Sizes::Together, Filter* filter = nullptr);

// What is in one list more than in the other, by stack, thread and size; where it is less, the costs are negative
// (signed_of). Without those that are equal.
std::vector<StackCost> change_of(const std::vector<StackCost>& before, const std::vector<StackCost>& after);

// All four kinds in one pass. By stack.
struct FilteredFigures {
  StackId stack{};
  Cost allocated{}, live{}, at_peak{}, temporary{};
};
std::vector<FilteredFigures> filtered_figures(const TapeView& view, Filter& filter);

// Stacks that grew steadily: what they had more at fifteen sixteenths of the run than at a quarter of it, when it rose
// in at least two thirds of the steps between and never fell by more than a tenth of it. The end itself does not count,
// for programs clean up.
std::vector<StackCost> growth_costs(const TapeView& view);

Cost sum_of(const std::vector<StackCost>& costs);

} // namespace heaptape
