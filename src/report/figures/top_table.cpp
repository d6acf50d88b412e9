#include "report/figures/top_table.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/number_text.h"
#include "report/figures/costs.h"
#include "report/figures/tree_text.h"
#include "report/figures/worst.h"
#include "report/select/runtime_pools.h"

namespace heaptape {
namespace {

void add(TopRow& row, const TopRow& other) {
  row.allocated += other.allocated;
  row.live += other.live;
  row.peak += other.peak;
  row.temporary += other.temporary;
}

const Cost& sorted_by(const TopRow& row, const TopOptions& options) {
  return options.sort == TopSort::Allocated ? row.allocated
         : options.sort == TopSort::Live    ? row.live
         : options.sort == TopSort::Peak    ? row.peak
                                            : row.temporary;
}

std::uint64_t weight(const TopRow& row, const TopOptions& options) {
  return measured(sorted_by(row, options), options.measure);
}

std::string cell(const Cost& cost, Measure measure) {
  return measure == Measure::Bytes ? bytes_text(cost.bytes) : with_separators(cost.blocks);
}

std::string who(const TapeView& view, Plumbing& plumbing, const TopRow& row, TopBy by) {
  StackNames& names = view.names();
  const std::vector<FrameId> frames = names.frames_of(row.stack);
  if (frames.empty()) return "(no stack)";
  if (const std::string_view pool = RuntimePools(names).of(frames); !pool.empty()) return "(" + std::string(pool) + ")";
  const std::size_t at = charged_frame(plumbing, frames);
  const std::string place = frame_location(names, frames[at], row.lines);
  std::string text = printable(names.function(frames[at])) + in_brackets(place);
  if (by == TopBy::Function) return text;
  for (std::size_t i = at + 1, inside = at; i < frames.size(); ++i) {
    if (starts_thread(names, frames[i])) break;
    if (plumbing.between(frames[inside], frames[i])) continue;
    inside = i;
    text += " <- " + printable(names.function(frames[i]));
  }
  return text;
}

std::vector<TopRow> rows_by_stack(const TapeView& view, Filter* where) {
  std::vector<TopRow> rows;
  if (where != nullptr && !where->matches_everything()) {
    for (const FilteredFigures& row : filtered_figures(view, *where))
      rows.push_back({row.stack, row.allocated, row.live, row.at_peak, row.temporary});
  } else {
    for (const StackFigures& row : view.findings().by_stack)
      rows.push_back({row.stack, row.allocated, row.live(), row.at_peak, row.temporary});
  }
  return rows;
}

} // namespace

TopTable make_top_table(const TapeView& view, FrameFilter& filter, const TopOptions& options, Filter* where) {
  StackNames& names = view.names();
  Plumbing plumbing(names);
  RuntimePools pools(names);
  struct Entry {
    TopRow row;
    std::uint64_t heaviest = 0;
    NameId file{}; // of the heaviest stack
    std::map<NameId, std::unordered_map<std::uint32_t, Cost>> lines{};
  };
  std::map<std::uint64_t, Entry> entries;
  TopTable table;
  for (const TopRow& row : rows_by_stack(view, where)) {
    if (!filter.accepts(names, row.stack)) continue;
    std::uint64_t key = row.stack.value;
    NamedFrame charged{};
    if (options.by == TopBy::Function) {
      const std::vector<FrameId> frames = names.frames_of(row.stack);
      if (!frames.empty()) charged = names[frames[charged_frame(plumbing, frames)]];
      key = frames.empty() ? ~std::uint64_t{0} : charged.function.value;
      // A runtime's pool is a row of its own; its name is one of a table, so that its address will do.
      if (const std::string_view pool = pools.of(frames); !pool.empty()) {
        key = reinterpret_cast<std::uintptr_t>(pool.data());
        charged = {};
      }
    }
    Entry& entry = entries[key];
    if (entry.row.stack.value == 0 || weight(row, options) > entry.heaviest) {
      entry.row.stack = row.stack;
      entry.heaviest = weight(row, options);
      entry.file = charged.file;
    }
    if (charged.line != 0 && weight(row, options) != 0)
      entry.lines[charged.file][charged.line] += sorted_by(row, options);
    add(entry.row, row);
    add(table.total, row);
  }
  for (auto& [key, entry] : entries) {
    entry.row.lines = lines_by_cost(entry.lines[entry.file], options.measure);
    table.rows.push_back(std::move(entry.row));
  }
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [&](const TopRow& a, const TopRow& b) { return weight(a, options) > weight(b, options); });
  while (table.rows.size() > options.rows) {
    add(table.rest, table.rows.back());
    ++table.others;
    table.rows.pop_back();
  }
  return table;
}

std::string top_text(const TapeView& view, const TopTable& table, const TopOptions& options, const TextStyle& style) {
  constexpr std::size_t kCell = 11;
  Plumbing plumbing(view.names());
  const auto title = [&](TopSort sort, const char* name) {
    const std::string text =
        padded_right(options.sort == sort ? std::string(name) + (style.utf8 ? "▾" : "*") : name, kCell);
    return options.sort == sort ? style.bold(text) : text;
  };
  const char* const noun = options.by == TopBy::Function ? "function" : "stack";
  const bool roomy = style.width == 0 || style.width >= 7 + 4 * kCell + 2 + 30;
  std::string out = padded_right("share", 7) + title(TopSort::Peak, "peak") + title(TopSort::Live, "live") +
                    title(TopSort::Allocated, "allocated") + title(TopSort::Temporary, "temporary") +
                    (roomy ? std::string("  ") + noun : "") +
                    (roomy && options.measure == Measure::Blocks ? "   (figures are blocks)" : "") + "\n";
  const std::uint64_t whole = weight(table.total, options);
  const auto line = [&](const TopRow& row, const std::string& name, bool heavy) {
    std::string text = padded_right(percent_text(weight(row, options), whole), 7);
    for (const Cost* cost : {&row.peak, &row.live, &row.allocated, &row.temporary}) {
      text += padded_right(cell(*cost, options.measure), kCell);
    }
    text += "  ";
    const std::size_t taken = columns_of(text);
    const std::size_t left = style.width == 0 ? columns_of(name) : style.width > taken ? style.width - taken : 0;
    const std::string shown = shortened(name, left);
    out += text + (heavy ? style.bold(shown) : shown) + "\n";
  };
  for (const TopRow& row : table.rows)
    line(row, who(view, plumbing, row, options.by), weight(row, options) * 10 >= whole);
  if (table.others != 0) line(table.rest, "in " + count_of(table.others, std::string("other ") + noun), false);
  line(table.total, "in all", false);
  return out;
}

void write_top_json(JsonWriter& json, const TapeView& view, const TopTable& table) {
  StackNames& names = view.names();
  Plumbing plumbing(names);
  json.begin_array();
  for (const TopRow& row : table.rows) {
    json.begin_object();
    const std::pair<const char*, const Cost*> figures[] = {
        {"peak", &row.peak}, {"live", &row.live}, {"allocated", &row.allocated}, {"temporary", &row.temporary}};
    for (const auto& [name, cost] : figures) {
      json.field(std::string(name) + "_bytes", cost->bytes).field(std::string(name) + "_blocks", cost->blocks);
    }
    const std::vector<FrameId> frames = names.frames_of(row.stack);
    if (!frames.empty()) {
      const FrameId charged = frames[charged_frame(plumbing, frames)];
      json.field("function", names.function(charged));
      if (names[charged].file.value != 0)
        json.field("file", names.text(names[charged].file)).field("line", names[charged].line);
    }
    json.key("stack").begin_array();
    for (const FrameId frame : frames) json.value(names.function(frame));
    json.end_array().end_object();
  }
  json.end_array();
}

} // namespace heaptape
