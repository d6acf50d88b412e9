// All figures of functions or stacks side by side, ordered by one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "report/figures/call_tree.h"
#include "report/select/filter.h"
#include "report/select/frame_filter.h"
#include "report/text/json_writer.h"
#include "report/text/text_style.h"
#include "report/view/tape_view.h"

namespace heaptape {

enum class TopSort : std::uint8_t { Allocated, Live, Peak, Temporary };
enum class TopBy : std::uint8_t {
  Function,
  Stack
}; // a stack counts for the function it is charged to (report/names/charged_function.h)

struct TopOptions {
  TopSort sort = TopSort::Peak;
  Measure measure = Measure::Bytes;
  TopBy by = TopBy::Function;
  std::size_t rows = 20;
};

struct TopRow {
  StackId stack{}; // one of the function's: the most expensive by the figure sorted by
  Cost allocated{}, live{}, peak{}, temporary{};
  std::vector<LineCost> lines{}; // of a function: known ones of its file, the most expensive first
};
struct TopTable {
  std::vector<TopRow> rows; // at most as many as asked for
  std::size_t others = 0;   // rows that are not shown
  TopRow rest{};            // their sum
  TopRow total{};
};

// With a filter on blocks, of those alone that it accepts.
TopTable make_top_table(const TapeView& view, FrameFilter& filter, const TopOptions& options, Filter* where = nullptr);
std::string top_text(const TapeView& view, const TopTable& table, const TopOptions& options, const TextStyle& style);
void write_top_json(JsonWriter& json, const TapeView& view, const TopTable& table);

} // namespace heaptape
