// The blocks of one page, each on a line, with the gaps between them.
#pragma once

#include <cstddef>
#include <string>

#include "report/map/heap_map.h"
#include "report/names/stack_names.h"
#include "report/text/text_style.h"

namespace heaptape {

// a to z, A to Z, and again from a.
char block_letter(std::size_t number);

// Of a map at MapZoom::Page. With letters each line begins with the block's.
std::string page_text(const HeapMap& map, StackNames& names, bool letters, const TextStyle& style);

// The text, or as much of it as fits with a sign that there is more.
std::string cut_off(const std::string& text, std::size_t columns, const TextStyle& style);

} // namespace heaptape
