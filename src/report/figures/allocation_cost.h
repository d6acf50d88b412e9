// The heap and the CPU profile joined: how much CPU time goes into calls of malloc, free, operator new and their kin,
// and from where.
//
// A sample is *in* an allocation function when the thread was inside a call that has a heap event: in the allocator, or
// in the recorder itself. Its time is charged to the stack of that event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/moment/cpu_times.h"
#include "report/select/frame_filter.h"
#include "report/text/json_writer.h"
#include "report/text/text_style.h"
#include "report/view/tape_view.h"

namespace heaptape {

struct AllocationCostRow {
  StackId stack{};
  CpuTime time{};                              // in allocation functions that this stack called
  CpuTime recorder{};                          // of it, in the recorder: absent when nothing is recorded
  std::uint64_t allocations = 0, releases = 0; // calls on the tape
};
struct AllocationCost {
  CpuTime all{};                         // of the whole profile
  CpuTime allocating{};                  // in allocation functions
  CpuTime recorder{};                    // of that, in the recorder
  std::vector<AllocationCostRow> rows{}; // most time first
};

// Of stacks that the filter accepts. Reads all events once.
AllocationCost make_allocation_cost(const TapeView& view, FrameFilter& filter);

std::string allocation_cost_text(const TapeView& view, const AllocationCost& cost, std::size_t rows,
                                 const TextStyle& style);
void write_allocation_cost_json(JsonWriter& json, const TapeView& view, const AllocationCost& cost);

} // namespace heaptape
