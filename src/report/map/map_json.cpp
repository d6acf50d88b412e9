#include "base/number_text.h"
#include "report/map/map_text.h"
#include "report/text/json_writer.h"

namespace heaptape {
namespace {

std::string_view state_name(CellState state) {
  switch (state) {
  case CellState::Outside: return "outside";
  case CellState::Reserved: return "reserved";
  case CellState::NeverUsed: return "never_used";
  case CellState::UsedBefore: return "used_before";
  case CellState::Live: break;
  }
  return "live";
}

std::string_view kind_name(const HeapRange& range) {
  if (!range.known) return "unknown";
  switch (range.kind) {
  case RangeKind::MainHeap: return "main_heap";
  case RangeKind::ThreadArena: return "thread_arena";
  case RangeKind::Anonymous: return "anonymous";
  case RangeKind::File: return "file";
  case RangeKind::Module: return "module";
  case RangeKind::MainStack:
  case RangeKind::ThreadStack: return "stack";
  case RangeKind::Special: break;
  }
  return "special";
}

void write_figures(JsonWriter& json, const RangeFigures& figures) {
  json.field("live_bytes", figures.live.bytes).field("live_blocks", figures.live.blocks);
  json.field("span_bytes", figures.span()).field("unused_bytes", figures.unused());
  json.field("largest_gap_bytes", figures.gap_bytes)
      .field("largest_gap", std::string_view(address_text(figures.gap_begin)));
  json.field("pages", figures.pages).field("pages_held_by_little", figures.little_pages);
}

// Empty cells are written as runs, so that a large empty range stays short.
void write_cells(JsonWriter& json, const MapPart& part) {
  json.key("cells").begin_array();
  for (std::size_t i = 0; i < part.grid.cells;) {
    const CellState state = state_of(part, i);
    const std::size_t first = i++;
    if (state != CellState::Live)
      while (i < part.grid.cells && state_of(part, i) == state) ++i;
    json.begin_object().field("cell", first).field("count", i - first).field("state", state_name(state));
    if (state == CellState::Live) {
      const Cell& cell = part.cells[first];
      json.field("live_bytes", cell.live_bytes).field("blocks", cell.blocks).field("largest", cell.largest);
      json.field("oldest_us", cell.oldest_us).field("youngest_us", cell.youngest_us).field("stack", cell.stack.value);
    }
    json.end_object();
  }
  json.end_array();
}

} // namespace

std::string map_json(const HeapMap& map, StackNames& names) {
  JsonWriter json;
  json.begin_object().field("event", map.event).field("time_us", map.time_us);
  json.field("ranges_known", map.from_kernel).field("used_before_exact", map.used_before_exact);
  json.field("live_bytes", map.live.bytes).field("live_blocks", map.live.blocks);
  if (map.address) json.field("address", std::string_view(address_text(*map.address)));
  json.key("ranges").begin_array();
  for (const MapPart& part : map.parts) {
    json.begin_object().field("kind", kind_name(part.range)).field("label", std::string_view(part.label));
    json.field("begin", std::string_view(address_text(part.range.begin)));
    json.field("end", std::string_view(address_text(part.range.end))).field("committed_bytes", part.range.committed);
    write_figures(json, part.range.figures);
    json.field("cells_begin", std::string_view(address_text(part.grid.begin)))
        .field("cell_bytes", part.grid.cell_bytes);
    write_cells(json, part);
    json.end_object();
  }
  json.end_array();
  json.field("ranges_left_out", map.ranges_left_out).field("left_out_bytes", map.left_out.bytes);
  json.key("stacks").begin_array();
  for (const StackCost& row : map.stacks) {
    json.begin_object().field("stack", row.stack.value).field("bytes", row.cost.bytes).field("blocks", row.cost.blocks);
    json.key("functions").begin_array();
    for (const FrameId frame : names.frames_of(row.stack)) json.value(names.function(frame));
    json.end_array().end_object();
  }
  json.end_array();
  if (map.zoom == MapZoom::Page) {
    json.key("blocks").begin_array();
    for (const MapBlock& row : map.blocks) {
      json.begin_object().field("address", std::string_view(address_text(row.block.address)));
      json.field("bytes", row.block.size).field("event", row.block.event).field("time_us", row.block.time_us);
      json.field("thread", row.owner.thread.value).field("stack", row.owner.stack.value).end_object();
    }
    json.end_array();
  }
  json.end_object();
  return json.text() + "\n";
}

} // namespace heaptape
