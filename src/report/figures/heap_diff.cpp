#include "report/figures/heap_diff.h"

#include <algorithm>
#include <map>

#include "base/number_text.h"
#include "report/figures/tree_text.h"
#include "report/figures/worst.h"
#include "report/names/stack_paths.h"
#include "report/select/runtime_pools.h"
#include "report/text/change_text.h"

namespace heaptape {
namespace {

std::uint64_t size_of(std::int64_t number) { return magnitude(static_cast<std::uint64_t>(number)); }

// The function a stack is charged to, its place, and its callers.
struct StackLabel {
  std::string function, place, callers;
};

StackLabel label_of(StackNames& names, Plumbing& plumbing, StackId stack) {
  constexpr std::size_t kCallers = 4;
  const std::vector<FrameId> frames = names.frames_of(stack);
  if (frames.empty()) return {"(no stack)", "", ""};
  if (const std::string_view pool = RuntimePools(names).of(frames); !pool.empty())
    return {"(" + std::string(pool) + ")", "", ""};
  const std::size_t at = charged_frame(plumbing, frames);
  StackLabel label{printable(names.function(frames[at])), frame_location(names, frames[at]), ""};
  std::size_t shown = 0;
  FrameId last = frames[at];
  for (std::size_t i = at + 1; i < frames.size() && shown < kCallers; ++i) {
    if (starts_thread(names, frames[i])) break;
    if (plumbing.between(last, frames[i]) || names[frames[i]].function == names[last].function) continue;
    last = frames[i];
    label.callers += (shown++ == 0 ? "<- " : " <- ") + printable(names.function(frames[i]));
  }
  return label;
}

struct Line {
  std::string bytes, blocks, word, name, place, callers;
};

} // namespace

const char* change_word(Change change) {
  switch (change) {
  case Change::Grown: return "grown";
  case Change::Shrunk: return "shrunk";
  case Change::New: return "new";
  case Change::Gone: return "gone";
  }
  return "?";
}

Diff make_diff(const DiffSide& before, const DiffSide& after) {
  StackPaths paths;
  std::map<PathId, DiffRow> rows;
  Diff diff;
  // Stacks that differ in lines alone share a row; it shows the most expensive one's.
  std::map<PathId, std::uint64_t> shown;
  const auto show = [&](DiffRow& row, PathId path, const StackCost& cost, bool from_after) {
    if (row.from_after == from_after && shown.contains(path) && shown[path] >= cost.cost.bytes) return;
    row.from_after = from_after;
    row.stack = cost.stack;
    shown[path] = cost.cost.bytes;
  };
  for (const StackCost& cost : before.costs) {
    const PathId path = paths.path_of(before.names, cost.stack);
    DiffRow& row = rows[path];
    row.before += cost.cost;
    show(row, path, cost, false);
    diff.before += cost.cost;
  }
  for (const StackCost& cost : after.costs) {
    const PathId path = paths.path_of(after.names, cost.stack);
    DiffRow& row = rows[path];
    row.after += cost.cost;
    show(row, path, cost, true);
    diff.after += cost.cost;
  }
  for (auto& [path, row] : rows) {
    if (row.before == row.after) {
      ++diff.unchanged;
      continue;
    }
    const bool more = row.bytes() != 0 ? row.bytes() > 0 : row.blocks() > 0;
    row.change = row.before == Cost{}  ? Change::New
                 : row.after == Cost{} ? Change::Gone
                 : more                ? Change::Grown
                                       : Change::Shrunk;
    diff.rows.push_back(row);
  }
  std::stable_sort(diff.rows.begin(), diff.rows.end(), [](const DiffRow& a, const DiffRow& b) {
    if (size_of(a.bytes()) != size_of(b.bytes())) return size_of(a.bytes()) > size_of(b.bytes());
    return size_of(a.blocks()) > size_of(b.blocks());
  });
  return diff;
}

std::string diff_text(const Diff& diff, const DiffSide& before, const DiffSide& after, const DiffText& options) {
  const TextStyle& style = options.style;
  Plumbing old_plumbing(before.names), new_plumbing(after.names);
  std::vector<Line> lines;
  std::int64_t rest_bytes = 0, rest_blocks = 0;
  std::size_t rest = 0;
  for (const DiffRow& row : diff.rows) {
    if (lines.size() == options.rows) {
      rest_bytes += row.bytes();
      rest_blocks += row.blocks();
      ++rest;
      continue;
    }
    const StackLabel label = row.from_after ? label_of(after.names, new_plumbing, row.stack)
                                            : label_of(before.names, old_plumbing, row.stack);
    lines.push_back({signed_bytes_text(row.bytes()), signed_count_text(row.blocks()) + "x", change_word(row.change),
                     label.function, label.place, label.callers});
  }
  if (rest != 0) {
    lines.push_back({signed_bytes_text(rest_bytes), signed_count_text(rest_blocks) + "x", "",
                     "in " + count_of(rest, "other stack"), "", ""});
  }
  std::size_t bytes = 0, blocks = 0, name = 0, place = 0;
  for (const Line& line : lines) {
    bytes = std::max(bytes, columns_of(line.bytes));
    blocks = std::max(blocks, columns_of(line.blocks));
    name = std::max(name, std::min<std::size_t>(columns_of(line.name), 40));
    place = std::max(place, std::min<std::size_t>(columns_of(line.place), 26));
  }
  std::string out;
  for (const Line& line : lines) {
    const bool more = !line.bytes.starts_with('-');
    std::string text = "  " + padded_right(line.bytes, bytes) + "  " + padded_right(line.blocks, blocks) + "  " +
                       padded_left(line.word, 6) + "  " + padded_left(line.name, name) + "  " +
                       padded_left(line.place, place) + "  " + line.callers;
    while (text.ends_with(' ')) text.pop_back();
    if (style.width != 0) text = shortened(text, style.width);
    out += (line.word.empty() ? text : more ? style.alarm(text) : style.good(text)) + "\n";
  }
  return out;
}

void write_diff_json(JsonWriter& json, const Diff& diff, const DiffSide& before, const DiffSide& after) {
  const auto cost = [&](const char* name, const Cost& of) {
    json.key(name).begin_object().field("bytes", of.bytes).field("blocks", of.blocks).end_object();
  };
  cost("before", diff.before);
  cost("after", diff.after);
  json.field("unchanged", diff.unchanged).key("changes").begin_array();
  for (const DiffRow& row : diff.rows) {
    StackNames& names = row.from_after ? after.names : before.names;
    json.begin_object().field("change", change_word(row.change));
    json.field("bytes", row.bytes()).field("blocks", row.blocks());
    cost("before", row.before);
    cost("after", row.after);
    json.key("stack").begin_array();
    for (const FrameId frame : names.frames_of(row.stack)) {
      json.begin_object().field("function", names.function(frame));
      if (names[frame].file.value != 0)
        json.field("file", names.text(names[frame].file)).field("line", names[frame].line);
      json.field("module", names.text(names[frame].module_name)).end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

} // namespace heaptape
