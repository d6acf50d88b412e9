// A HeapMap for terminals, and for programs.
#pragma once

#include <string>

#include "report/map/heap_map.h"
#include "report/map/map_classes.h"
#include "report/names/stack_names.h"
#include "report/text/text_style.h"

namespace heaptape {

// The columns of cells that fit beside the addresses: a power of two from 16 to 256. A width of 0 counts as 80.
std::size_t map_columns(unsigned width);

// Each range with a heading and rows of cells, then what the characters mean; at MapZoom::Page each block too.
std::string map_text(const HeapMap& map, const MapClasses& classes, StackNames& names, const TextStyle& style);

// How the range is used, in two clauses: "fragmentation 26.7 % of 4.30 MB ..." and "887 pages, 6 of them held by ...".
std::string fragmentation_text(const RangeFigures& figures);
std::string pages_text(const RangeFigures& figures);

std::string map_json(const HeapMap& map, StackNames& names);

} // namespace heaptape
