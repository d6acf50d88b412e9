#include "report/figures/worst_text.h"

#include <algorithm>

#include "base/number_text.h"
#include "report/figures/tree_text.h"

namespace heaptape {
namespace {

constexpr std::size_t kWidestName = 44, kWidestPlace = 28;

struct Line {
  std::string share, bytes, blocks, name, place, callers;
  bool heavy = false;
};

struct Columns {
  std::size_t share = 0, bytes = 0, blocks = 0, name = 0, place = 0;

  void widen(const Line& line) {
    share = std::max(share, columns_of(line.share));
    bytes = std::max(bytes, columns_of(line.bytes));
    blocks = std::max(blocks, columns_of(line.blocks));
    name = std::max(name, std::min(columns_of(line.name), kWidestName));
    place = std::max(place, std::min(columns_of(line.place), kWidestPlace));
  }
};

Line figures(const Cost& cost, const Worst& worst, Measure measure) {
  Line line;
  line.share = percent_text(measured(cost, measure), measured(worst.total, measure));
  line.bytes = bytes_text(cost.bytes);
  line.blocks = with_separators(cost.blocks) + "x";
  line.heavy = measured(cost, measure) * 10 >= measured(worst.total, measure);
  return line;
}

Line line_of(const StackNames& names, const WorstRow& row, const Worst& worst, Measure measure) {
  Line line = figures(row.cost, worst, measure);
  if (!row.has_frame) {
    line.name = "(no stack)";
    return line;
  }
  if (!row.counted.empty()) line.blocks = row.counted;
  line.name = printable(names.function(row.frame));
  line.place = frame_location(names, row.frame, row.lines);
  for (const FrameId caller : row.callers) {
    line.callers += (line.callers.empty() ? "<- " : " <- ") + printable(names.function(caller));
  }
  return line;
}

// Names give way first, then places; callers take what is left.
void fit(Columns& columns, unsigned width) {
  if (width == 0) return;
  const std::size_t taken = 2 + columns.share + 2 + columns.bytes + 2 + columns.blocks + 2 + 2;
  const std::size_t room = width > taken ? width - taken : 0;
  if (columns.name + columns.place <= room) return;
  columns.place = std::min(columns.place, std::max<std::size_t>(room / 3, 8));
  columns.name = std::max<std::size_t>(room > columns.place ? room - columns.place : 0, 12);
}

void put(std::string& out, const Line& line, const Columns& columns, const TextStyle& style) {
  const bool narrow = style.width != 0;
  const std::string name = narrow ? shortened(line.name, columns.name) : line.name;
  const std::string place = narrow ? shortened(line.place, columns.place) : line.place;
  std::string text = "  " + padded_right(line.share, columns.share) + "  " + padded_right(line.bytes, columns.bytes) +
                     "  " + padded_right(line.blocks, columns.blocks) + "  ";
  std::size_t taken = columns_of(text);
  text += line.heavy ? style.bold(name) : name;
  taken += columns_of(name);
  // Nothing but blanks may stand at the end of a line.
  std::string gap;
  const auto add = [&](std::size_t up_to, const std::string& more, bool dim) {
    gap += std::string(up_to > taken ? up_to - taken : 0, ' ');
    taken = std::max(taken, up_to);
    if (more.empty()) return;
    text += gap + (dim ? style.dim(more) : more);
    gap.clear();
    taken += columns_of(more);
  };
  const std::size_t names_at = 2 + columns.share + 2 + columns.bytes + 2 + columns.blocks + 2;
  add(std::max(taken + (place.empty() ? 0 : 2), names_at + columns.name + 2), place, true);
  const std::size_t callers_at = std::max(taken + 2, names_at + columns.name + 2 + columns.place + 2);
  const std::size_t left = narrow ? (style.width > callers_at ? style.width - callers_at : 0) : line.callers.size();
  if (left >= 8 || !narrow) add(callers_at, shortened(line.callers, left), false);
  out += text + "\n";
}

} // namespace

std::string worst_text(const StackNames& names, const Worst& worst, Measure measure, const TextStyle& style) {
  std::vector<Line> lines;
  for (const WorstRow& row : worst.rows) lines.push_back(line_of(names, row, worst, measure));
  if (worst.others != 0) {
    lines.push_back(figures(worst.others_cost, worst, measure));
    lines.back().name = "in " + count_of(worst.others, "other function");
    if (!worst.others_counted.empty()) lines.back().blocks = worst.others_counted;
    lines.back().heavy = false;
  }
  Columns columns;
  for (const Line& line : lines) columns.widen(line);
  fit(columns, style.width);
  std::string out;
  for (const Line& line : lines) put(out, line, columns, style);
  return out;
}

void write_worst_json(JsonWriter& json, const StackNames& names, const Worst& worst) {
  json.begin_array();
  for (const WorstRow& row : worst.rows) {
    json.begin_object().field("bytes", row.cost.bytes).field("blocks", row.cost.blocks);
    if (row.made) json.field("made_bytes", row.made->bytes).field("made_blocks", row.made->blocks);
    if (row.containers) json.field("containers", *row.containers);
    if (row.noun != "block") json.field("what", row.noun);
    if (row.has_frame) {
      const NamedFrame& frame = names[row.frame];
      json.field("function", names.text(frame.function));
      if (frame.file.value != 0) json.field("file", names.text(frame.file)).field("line", frame.line);
      if (frame.module != nullptr) json.field("module", std::string_view(frame.module->path));
      if (row.lines.size() > 1) {
        json.key("lines").begin_array();
        for (const LineCost& line : row.lines) json.value(line.line);
        json.end_array();
      }
      json.key("callers").begin_array();
      for (const FrameId caller : row.callers) json.value(names.function(caller));
      json.end_array();
    }
    json.end_object();
  }
  json.end_array();
}

} // namespace heaptape
