#include "report/map/heap_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "analysis/space/used_before.h"
#include "base/characters.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kLeastCell = 16;                       // what malloc aligns to
constexpr std::uint64_t kLargestCell = std::uint64_t{1} << 54; // on a damaged tape blocks may have any size
constexpr std::uint64_t kPage = 4096;

std::string label_of(const HeapRange& range, const AddressSpace& space) {
  if (!range.known) return "blocks outside every known mapping";
  switch (range.kind) {
  case RangeKind::MainHeap: return "main heap";
  case RangeKind::ThreadArena: return "thread arena";
  case RangeKind::Anonymous: return range.figures.live.blocks == 1 ? "mapped block" : "mapped blocks";
  case RangeKind::MainStack:
  case RangeKind::ThreadStack: return "stack";
  default: break;
  }
  return range.name != 0 && range.name < space.names.size() ? "in " + printable(space.names[range.name])
                                                            : "other mapping";
}

// Whose blocks lie in a thread arena: "thread arena, mostly thread 3 (loader)".
std::string arena_label(const TapeReader& tape, std::span<const Block> blocks, const OwnerTable& owners) {
  std::map<ThreadId, std::uint64_t> made;
  for (const Block& block : blocks) ++made[owners[block.owner].thread];
  if (made.empty()) return "thread arena";
  const auto most =
      std::max_element(made.begin(), made.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto& threads = tape.threads();
  const auto thread =
      std::find_if(threads.begin(), threads.end(), [&](const Thread& one) { return one.id == most->first; });
  const std::string name = thread != threads.end() && !thread->name.empty() ? " (" + thread->name + ")" : "";
  return fmt::format("thread arena, {}thread {}{}", made.size() == 1 ? "" : "mostly ", most->first.value, name);
}

std::uint64_t rows_of(std::uint64_t bytes, std::uint64_t cell_bytes, std::size_t columns) {
  const std::uint64_t row = cell_bytes * columns;
  return bytes / row + (bytes % row != 0);
}

// The smallest cells with which the ranges fit into this many rows.
std::uint64_t common_cell(const std::vector<MapPart>& parts, std::size_t columns, std::size_t rows) {
  std::uint64_t cell = kLeastCell;
  const auto taken = [&] {
    std::uint64_t sum = 0;
    for (const MapPart& part : parts) sum += rows_of(part.end - part.begin, cell, columns);
    return sum;
  };
  while (cell < kLargestCell && taken() > std::max(rows, parts.size())) cell *= 2;
  return cell;
}

void cut(MapPart& part, std::uint64_t cell_bytes) {
  part.grid.cell_bytes = cell_bytes;
  part.grid.begin = part.begin & ~(cell_bytes - 1);
  part.grid.cells = static_cast<std::size_t>(rows_of(part.end - part.grid.begin, cell_bytes, 1));
}

// Those with most live bytes stay, by address.
void leave_out_small_ranges(HeapMap& map, std::size_t most) {
  if (map.parts.size() <= most) return;
  std::sort(map.parts.begin(), map.parts.end(), [](const MapPart& a, const MapPart& b) {
    const std::uint64_t in_a = a.range.figures.live.bytes, in_b = b.range.figures.live.bytes;
    return in_a != in_b ? in_a > in_b : a.begin < b.begin;
  });
  for (std::size_t i = most; i < map.parts.size(); ++i) map.left_out += map.parts[i].range.figures.live;
  map.ranges_left_out = map.parts.size() - most;
  map.parts.resize(most);
  std::sort(map.parts.begin(), map.parts.end(), [](const MapPart& a, const MapPart& b) { return a.begin < b.begin; });
}

void add_stacks(HeapMap& map, std::span<const Block> blocks, const OwnerTable& owners, std::size_t most) {
  std::vector<StackCost> all;
  for (const MapPart& part : map.parts) {
    for (const Block& block : blocks_in(blocks, part.begin, part.end)) {
      const StackId stack = owners[block.owner].stack;
      if (stack.value >= all.size()) all.resize(stack.value + std::size_t{1});
      all[stack.value].stack = stack;
      all[stack.value].cost += Cost::of(block.size);
    }
  }
  std::erase_if(all, [](const StackCost& row) { return row.cost.blocks == 0; });
  for (const StackCost& row : all) map.live += row.cost;
  std::sort(all.begin(), all.end(), [](const StackCost& a, const StackCost& b) {
    return a.cost.bytes != b.cost.bytes ? a.cost.bytes > b.cost.bytes : a.stack < b.stack;
  });
  for (std::size_t i = most; i < all.size(); ++i) map.other_stacks += all[i].cost;
  if (all.size() > most) all.resize(most);
  map.stacks = std::move(all);
}

// The arena around the address, or the pages in it.
Result<> look_closer(HeapMap& map, const AskMap& ask) {
  const std::uint64_t address = *ask.address;
  const auto found = std::find_if(map.parts.begin(), map.parts.end(), [&](const MapPart& part) {
    return address >= part.range.begin && address < part.range.end;
  });
  if (found == map.parts.end())
    return Error{ErrorCode::NotFound, address_text(address) + " is not in a range that holds heap at this moment"};
  MapPart part = std::move(*found);
  if (ask.zoom == MapZoom::Arena && address >= part.end)
    return Error{ErrorCode::NotFound, address_text(address) + " is reserved by the " + part.label +
                                          ", but not in use: its blocks end below " + address_text(part.end)};
  if (ask.zoom != MapZoom::Arena) {
    const std::uint64_t window = ask.zoom == MapZoom::Page ? kPage : 16 * kPage;
    part.begin = std::max(address & ~(window - 1), part.range.begin);
    part.end = std::min((address & ~(window - 1)) + window, part.range.end);
  }
  map.parts.clear();
  map.parts.push_back(std::move(part));
  return Unit{};
}

} // namespace

Result<HeapMap> make_heap_map(const TapeReader& tape, const Index& index, const HeapState& state,
                              const AddressSpace& space, const AskMap& ask) {
  HeapMap map;
  map.event = state.event();
  map.time_us = state.time_us();
  map.zoom = ask.zoom;
  map.columns = ask.columns;
  map.address = ask.address;
  map.from_kernel = space.from_kernel;
  const std::vector<Block> blocks = blocks_by_address(state);
  for (const HeapRange& range : heap_ranges(space, blocks)) {
    MapPart part{.range = range,
                 .label = label_of(range, space),
                 .begin = range.begin,
                 .end = range.end,
                 .grid = {},
                 .cells = {},
                 .used_before = {}};
    // What an arena only reserves would be most of the picture.
    if (range.kind == RangeKind::ThreadArena && range.committed != 0)
      part.end = std::min(range.end, range.begin + (range.committed + kPage - 1) / kPage * kPage);
    map.parts.push_back(std::move(part));
  }
  if (ask.zoom != MapZoom::All) {
    if (const Result<> closer = look_closer(map, ask); !closer) return closer.error();
  } else if (map.parts.empty()) {
    return Error{ErrorCode::NotFound, "nothing is live at this moment, so there is nothing to draw"};
  }
  leave_out_small_ranges(map, ask.most_ranges);

  const std::uint64_t common = ask.zoom == MapZoom::Pages16 ? std::max<std::uint64_t>(kPage / ask.columns, kLeastCell)
                                                            : common_cell(map.parts, ask.columns, ask.rows);
  std::vector<CellGrid> grids;
  for (MapPart& part : map.parts) {
    std::uint64_t cell = common;
    while (cell > kLeastCell && ask.zoom == MapZoom::All && rows_of(part.end - part.begin, cell / 2, ask.columns) <= 1)
      cell /= 2;
    cut(part, cell);
    // Its last cell may reach into the next range.
    const std::span<const Block> inside = blocks_in(blocks, part.begin, part.end);
    part.cells = heap_cells(inside, state.owners(), part.grid);
    if (part.range.kind == RangeKind::ThreadArena) part.label = arena_label(tape, inside, state.owners());
    grids.push_back(part.grid);
  }
  UsedBefore used = used_before(tape, index, grids, {.until = state.event(), .should_stop = ask.should_stop});
  map.used_before_exact = used.exact;
  for (std::size_t i = 0; i < map.parts.size(); ++i) map.parts[i].used_before = std::move(used.cells[i]);
  add_stacks(map, blocks, state.owners(), ask.most_stacks);
  if (ask.zoom == MapZoom::Page)
    for (const Block& block : blocks_in(blocks, map.parts[0].begin, map.parts[0].end))
      map.blocks.push_back({block, state.owners()[block.owner]});
  return map;
}

std::string address_text(std::uint64_t address) { return fmt::format("0x{:x}", address); }

std::string binary_size_text(std::uint64_t bytes) {
  if (bytes >= std::uint64_t{1} << 30) return fmt::format("{} GiB", bytes >> 30);
  if (bytes >= std::uint64_t{1} << 20) return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= std::uint64_t{1} << 10) return fmt::format("{} KiB", bytes >> 10);
  return bytes == 1 ? "1 byte" : fmt::format("{} bytes", bytes);
}

} // namespace heaptape
