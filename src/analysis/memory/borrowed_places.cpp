#include "analysis/memory/borrowed_places.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/memory/python_objects.h"

namespace heaptape {

std::vector<std::uint64_t> borrowed_places(const HeapView& heap) {
  std::vector<std::uint64_t> borrowed;
  std::unordered_map<std::uint64_t, std::uint32_t> missing; // references that are not found yet, by place
  std::vector<bool> is_asked(heap.ranks.size());
  PythonObjects objects(heap.image, heap.ranks);
  for (const RootWord& word : heap.roots.words()) {
    if (heap.roots.is_weak(word) || missing.contains(word.place())) continue;
    const std::uint64_t address = heap.ranks.begin(word.block) + word.offset;
    if (const std::uint32_t count = objects.references_at(address); count != 0) {
      missing.emplace(word.place(), count);
      is_asked[word.block] = true;
    } else if (objects.are_links(address)) {
      borrowed.push_back(word.place());
    }
  }
  const auto found = [&](std::uint64_t place) {
    const auto asked = missing.find(place);
    if (asked != missing.end() && asked->second != 0 && --asked->second == 0) borrowed.push_back(place);
  };
  for (std::uint32_t edge = 0; edge < heap.graph.edges(); ++edge) {
    const std::uint32_t to = heap.graph.target(edge);
    if (is_asked[to] && heap.graph.kind(edge) == EdgeKind::Start) found(place_in(to, 0));
  }
  heap.graph.for_each_interior([&](std::uint32_t, std::uint32_t to, std::uint32_t offset) {
    if (is_asked[to]) found(place_in(to, offset));
  });
  std::sort(borrowed.begin(), borrowed.end());
  borrowed.erase(std::unique(borrowed.begin(), borrowed.end()), borrowed.end());
  return borrowed;
}

} // namespace heaptape
