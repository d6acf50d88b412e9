// The heap at a moment laid out as a picture: which ranges, cut into which cells, and what lies in each. Text, JSON and
// drawings show the same one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/index/index.h"
#include "analysis/space/address_space.h"
#include "analysis/space/heap_cells.h"
#include "analysis/space/heap_ranges.h"
#include "base/result.h"
#include "report/figures/call_tree.h"
#include "tape/reader.h"

namespace heaptape {

enum class MapZoom : std::uint8_t { All, Arena, Pages16 /* 64 KiB */, Page };

// One range, or the part of it that is looked at.
struct MapPart {
  HeapRange range;
  std::string label;                // "main heap", "thread arena, thread 3", "mapped blocks", ...
  std::uint64_t begin = 0, end = 0; // addresses that exist; the first and the last cell may reach beyond
  CellGrid grid;
  std::vector<Cell> cells;
  std::vector<std::uint8_t> used_before; // as UsedBefore::cells
};

struct MapBlock {
  Block block;
  Owner owner;
};

struct HeapMap {
  std::uint64_t event = 0, time_us = 0; // of the moment
  MapZoom zoom = MapZoom::All;
  std::size_t columns = 0;      // cells in a row of the picture
  std::vector<MapPart> parts{}; // by address
  Cost live{};                  // in the parts
  std::size_t ranges_left_out = 0;
  Cost left_out{};                        // what lies in those
  std::optional<std::uint64_t> address{}; // to be marked
  std::vector<StackCost> stacks{};        // that hold what lies in the parts: those with most bytes, most first
  Cost other_stacks{};                    // what the stacks not listed hold
  std::vector<MapBlock> blocks{};         // Page only: those with a byte in it, by address
  bool used_before_exact = true;          // see UsedBefore
  bool from_kernel = true;                // see AddressSpace
};

struct AskMap {
  MapZoom zoom = MapZoom::All;
  std::optional<std::uint64_t> address{}; // needed unless zoom is All
  std::size_t columns = 64;               // a power of two
  std::size_t rows = 30;                  // in all, approximately
  std::size_t most_ranges = 12;           // with more, the ones with most live bytes are shown
  std::size_t most_stacks = 26;
  std::function<bool()> should_stop{};
};

// Cells are powers of two; all ranges are drawn to one scale, but those that would not fill a row get a finer one. An
// Error when nothing is live, or the address lies in no range that holds heap.
Result<HeapMap> make_heap_map(const TapeReader& tape, const Index& index, const HeapState& state,
                              const AddressSpace& space, const AskMap& ask);

// "0x7f3c00001000".
std::string address_text(std::uint64_t address);
// "16 bytes", "4 KiB", "2 MiB" for powers of two.
std::string binary_size_text(std::uint64_t bytes);

} // namespace heaptape
