#include "report/figures/pools.h"

#include <algorithm>
#include <array>

#include "base/number_text.h"

namespace heaptape {
namespace {

constexpr std::size_t kNumbers = 5;
constexpr std::size_t kGap = 2;
using Row = std::array<std::string, kNumbers>;

Row numbers_of(const PoolFigures& figures) {
  return {bytes_text(figures.live.bytes), with_separators(figures.live.blocks), bytes_text(figures.peak_bytes),
          bytes_text(figures.allocated.bytes), with_separators(figures.allocated.blocks)};
}

} // namespace

std::string pool_name(const std::vector<Pool>& pools, std::uint64_t number) {
  const auto found = std::find_if(pools.begin(), pools.end(), [&](const Pool& pool) { return pool.number == number; });
  if (number == 0) return "(no pool)";
  if (found == pools.end()) return "pool " + std::to_string(number);
  return found->name.empty() ? "(unnamed)" : printable(found->name);
}

std::vector<PoolLine> pool_lines(const std::vector<Pool>& pools, const PoolState& state) {
  std::vector<PoolLine> lines;
  for (const PoolFigures& figures : state.figures()) {
    if (figures.pool == 0) continue;
    const bool is_function = std::any_of(pools.begin(), pools.end(), [&](const Pool& pool) {
      return pool.number == figures.pool && pool.kind == PoolKind::Function;
    });
    lines.push_back({pool_name(pools, figures.pool), is_function, figures});
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const PoolLine& a, const PoolLine& b) { return a.figures.peak_bytes > b.figures.peak_bytes; });
  return lines;
}

std::string pool_table(const std::vector<PoolLine>& lines, const TextStyle& style, std::size_t indent) {
  const Row titles{"live", "blocks", "peak", "allocated", "blocks"};
  std::array<std::size_t, kNumbers> widths{};
  std::size_t name_width = 4;
  for (std::size_t i = 0; i < kNumbers; ++i) widths[i] = titles[i].size();
  for (const PoolLine& line : lines) {
    const Row numbers = numbers_of(line.figures);
    for (std::size_t i = 0; i < kNumbers; ++i) widths[i] = std::max(widths[i], columns_of(numbers[i]));
    name_width = std::max(name_width, columns_of(line.name));
  }
  std::size_t rest = indent;
  for (const std::size_t width : widths) rest += kGap + width;
  if (style.width != 0 && name_width + rest > style.width)
    name_width = std::max<std::size_t>(12, style.width > rest ? style.width - rest : 0);
  const auto put = [&](const std::string& name, const Row& numbers) {
    std::string text = std::string(indent, ' ') + padded_left(shortened(name, name_width), name_width);
    for (std::size_t i = 0; i < kNumbers; ++i) text += std::string(kGap, ' ') + padded_right(numbers[i], widths[i]);
    return text;
  };
  std::string out = style.dim(put("pool", titles)) + "\n";
  for (const PoolLine& line : lines) out += put(line.name, numbers_of(line.figures)) + "\n";
  return out;
}

std::vector<std::string> pool_remarks(const std::vector<PoolLine>& lines, const PoolState& state) {
  std::vector<std::string> remarks;
  for (const PoolLine& line : lines) {
    const PoolFigures& figures = line.figures;
    if (figures.unknown_frees != 0)
      remarks.push_back(line.name + ": " + count_of(figures.unknown_frees, "free") +
                        " of what was not a live block of it");
    if (figures.replaced != 0) {
      remarks.push_back(line.name + ": " + count_of(figures.replaced, "block") +
                        (line.is_function ? " ended unseen (freed inside the library?)"
                                          : " ended without a free, another was made at the same address"));
    }
  }
  for (const PoolFigures& figures : state.figures()) {
    if (figures.pool == 0)
      remarks.push_back(count_of(figures.unknown_frees, "free") + " by --free-fn of what no --alloc-fn had returned");
  }
  return remarks;
}

void write_pools_json(JsonWriter& json, const std::vector<PoolLine>& lines) {
  json.begin_array();
  for (const PoolLine& line : lines) {
    const PoolFigures& figures = line.figures;
    json.begin_object().field("name", std::string_view(line.name)).field("number", figures.pool);
    json.field("function", line.is_function);
    json.field("live_bytes", figures.live.bytes).field("live_blocks", figures.live.blocks);
    json.field("peak_bytes", figures.peak_bytes).field("peak_event", figures.peak_event);
    json.field("peak_us", figures.peak_us).field("allocated_bytes", figures.allocated.bytes);
    json.field("allocated_blocks", figures.allocated.blocks).field("resets", figures.resets);
    json.field("unknown_frees", figures.unknown_frees).field("replaced", figures.replaced).end_object();
  }
  json.end_array();
}

std::vector<StackCost> pool_costs(const PoolState& state, std::uint64_t pool, PoolPart part) {
  std::vector<StackCost> costs;
  for (const PoolOwnerCost& row : state.owners(pool)) {
    const Cost cost = part == PoolPart::Live ? row.live : row.allocated;
    if (cost != Cost{}) costs.push_back({row.owner.stack, row.owner.thread, cost});
  }
  return costs;
}

} // namespace heaptape
