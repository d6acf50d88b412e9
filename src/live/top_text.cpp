#include "live/top_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/number_text.h"

namespace heaptape {

std::string short_bytes(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  if (bytes < 1000) return std::to_string(bytes) + " B";
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (amount >= 999.5 && unit + 1 < std::size(kUnits)) {
    amount /= 1000;
    ++unit;
  }
  return decimal_text(amount, amount < 9.995 ? 2 : amount < 99.95 ? 1 : 0) + " " + kUnits[unit];
}

namespace {

std::vector<StackId> stacks_of(std::span<const StackTally> rows) {
  std::vector<StackId> stacks;
  for (const StackTally& row : rows) stacks.push_back(row.stack);
  return stacks;
}

std::string row_text(const StackTally& row, LiveNames& names, const TopTextOptions& options) {
  std::string line = fmt::format("{:>9} {:>9} {:>12}  ", short_bytes(row.live().bytes),
                                 short_bytes(row.allocated.bytes), with_separators(row.live().blocks));
  const std::string who = names.text().chain(row.stack);
  const std::size_t room = options.style.width > line.size() ? options.style.width - line.size() : 0;
  line += (options.style.width != 0 ? shortened(who, std::max<std::size_t>(room, 20)) : who) + "\n";
  if (options.frames) line += names.text().frames(row.stack, "      ", options.style);
  return line;
}

} // namespace

std::string top_moment_text(const TopMoment& moment, std::span<const StackTally> rows, LiveNames& names,
                            const TopTextOptions& options) {
  names.prepare(stacks_of(rows));
  std::string text = options.style.bold(fmt::format(
      "{}{} {} s{}", printable(moment.program), moment.pid != 0 ? fmt::format(" (pid {}):", moment.pid) : ":",
      decimal_text(static_cast<double>(moment.time_us) / 1e6, 1), moment.ended ? ", ended" : ""));
  text += fmt::format("\nin use {} in {}, peak {}, ever {} in {}\n", short_bytes(moment.live().bytes),
                      count_of(moment.live().blocks, "block"), short_bytes(moment.peak_bytes),
                      short_bytes(moment.allocated.bytes), count_of(moment.allocated.blocks, "block"));
  if (rows.empty()) return text + "nothing is in use\n";
  const std::string head = fmt::format("{:>9} {:>9} {:>12}  {}\n", "in use", "total", "blocks", "where");
  std::string table;
  Cost shown, ever_shown;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const StackTally& row = rows[options.largest_first ? i : rows.size() - 1 - i];
    table += row_text(row, names, options);
    shown += row.live();
    ever_shown += row.allocated;
  }
  std::string rest;
  if (const Cost left = moment.live() - shown; left.blocks != 0) {
    rest = options.style.dim(fmt::format("{:>9} {:>9} {:>12}  (elsewhere)", short_bytes(left.bytes),
                                         short_bytes((moment.allocated - ever_shown).bytes),
                                         with_separators(left.blocks))) +
           "\n";
  }
  return text + options.style.dim(head) + (options.largest_first ? table + rest : rest + table);
}

void write_top_moment_json(JsonWriter& json, const TopMoment& moment, std::span<const StackTally> rows,
                           LiveNames& names) {
  names.prepare(stacks_of(rows));
  json.begin_object()
      .field("program", moment.program)
      .field("pid", moment.pid)
      .field("time_us", moment.time_us)
      .field("ended", moment.ended)
      .field("live_bytes", moment.live().bytes)
      .field("live_blocks", moment.live().blocks)
      .field("peak_bytes", moment.peak_bytes)
      .field("allocated_bytes", moment.allocated.bytes)
      .field("allocated_blocks", moment.allocated.blocks);
  json.key("sources").begin_array();
  for (const StackTally& row : rows) {
    json.begin_object()
        .field("source", std::string_view(fmt::format("{:016x}", names.source_hash(row.stack))))
        .field("live_bytes", row.live().bytes)
        .field("live_blocks", row.live().blocks)
        .field("allocated_bytes", row.allocated.bytes)
        .field("allocated_blocks", row.allocated.blocks)
        .field("freed_bytes", row.freed.bytes)
        .field("freed_blocks", row.freed.blocks);
    json.key("stack");
    names.text().write_json(json, row.stack);
    json.end_object();
  }
  json.end_array().end_object();
}

} // namespace heaptape
