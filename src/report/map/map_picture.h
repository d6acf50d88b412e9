// The large pictures: a HeapMap, and the heap over time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "analysis/space/heap_over_time.h"
#include "base/result.h"
#include "report/map/canvas.h"
#include "report/map/heap_map.h"
#include "report/map/map_classes.h"

namespace heaptape {

// What a HeapMap should be cut into for draw_map().
inline constexpr std::size_t kPictureColumns = 256, kPictureRows = 150;

// The file. Each range with its addresses and figures, a legend below.
Result<std::string> draw_map(const HeapMap& map, const MapClasses& classes, const std::string& title,
                             PictureFormat format);

struct OverTimeLabels {
  std::string title;
  TimeAxis axis = TimeAxis::Time;
  std::uint64_t from = 0, to = 0; // what the left and right edge stand for: us or event numbers
};
// Time to the right, addresses upwards; what never held a block is cut out.
Result<std::string> draw_over_time(const HeapOverTime& heap, const OverTimeLabels& labels, PictureFormat format);

} // namespace heaptape
