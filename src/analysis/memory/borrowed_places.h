// Objects of CPython at which words of variables do not own them. An object counts the references that keep it. Where as many words of
// blocks lead to it as it counts, those in variables are left over or borrowed: lists of objects to be used again whose first ones are in use,
// caches of methods, lists of the collector. Like words on stacks they then count only for what nothing else leads to.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/memory/heap_view.h"

namespace heaptape {

// Each as RootWord::place(), in order. The graph was made for CPython.
std::vector<std::uint64_t> borrowed_places(const HeapView& heap);

} // namespace heaptape
