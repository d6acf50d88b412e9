// The program's pools for people: a table of all, and the stacks behind one.
//
//   pool            live   blocks        peak   allocated   blocks
//   parser arena   1.2 MB   4,001      3.9 MB     41.0 MB  120,000
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/heap/pool_state.h"
#include "report/figures/call_tree.h"
#include "report/text/json_writer.h"
#include "report/text/text_style.h"
#include "tape/contents.h"

namespace heaptape {

// A pool's name as it may be shown; "pool 7" when its name is lost, "(unnamed)" when it is empty.
std::string pool_name(const std::vector<Pool>& pools, std::uint64_t number);

struct PoolLine {
  std::string name;
  bool is_function = false; // what a function of --alloc-fn returned
  PoolFigures figures;
};
// The largest peak first. Pool 0 is left out: it has no blocks.
std::vector<PoolLine> pool_lines(const std::vector<Pool>& pools, const PoolState& state);

// Lines that end with a newline, indented by this many blanks.
std::string pool_table(const std::vector<PoolLine>& lines, const TextStyle& style, std::size_t indent = 0);
// What the table cannot say: frees that found no block, blocks that ended unseen; a sentence each.
std::vector<std::string> pool_remarks(const std::vector<PoolLine>& lines, const PoolState& state);
// An array of objects.
void write_pools_json(JsonWriter& json, const std::vector<PoolLine>& lines);

enum class PoolPart : bool { Live, Allocated };
std::vector<StackCost> pool_costs(const PoolState& state, std::uint64_t pool, PoolPart part);

} // namespace heaptape
