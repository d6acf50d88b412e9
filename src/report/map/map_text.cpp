#include "report/map/map_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/number_text.h"
#include "report/map/page_text.h"

namespace heaptape {
namespace {

constexpr std::size_t kLabelColumns = 15; // "0x7f3c00001000 "
constexpr std::array kShades = std::to_array<std::string_view>({"░", "▒", "▓", "█"});
constexpr std::array kLetters = std::to_array<std::string_view>({":", "=", "+", "*", "#", "@"});

class Picture {
public:
  Picture(const HeapMap& map, const MapClasses& classes, StackNames& names, const TextStyle& style)
      : map_(map), classes_(classes), names_(names), style_(style) {}

  std::string draw() {
    for (const MapPart& part : map_.parts) add_part(part);
    if (map_.zoom == MapZoom::Page) out_ += page_text(map_, names_, shows_blocks(), style_) + "\n";
    if (map_.ranges_left_out != 0)
      out_ += fmt::format("and {} with {} in {}\n\n", count_of(map_.ranges_left_out, "smaller range"),
                          bytes_text(map_.left_out.bytes), count_of(map_.left_out.blocks, "block"));
    add_legend();
    return std::move(out_);
  }

private:
  std::string painted(std::uint8_t color, std::string_view text) const {
    return style_.color ? fmt::format("\x1b[38;5;{}m{}\x1b[0m", color, text) : std::string(text);
  }
  std::string_view shade(double density) const {
    const auto step = [&](const auto& steps) {
      return steps[std::min(static_cast<std::size_t>(density * static_cast<double>(steps.size())), steps.size() - 1)];
    };
    return style_.utf8 ? step(kShades) : step(kLetters);
  }
  std::string_view mark(CellState state) const {
    if (state == CellState::NeverUsed) return style_.utf8 ? "·" : ".";
    return state == CellState::UsedBefore ? "-" : " ";
  }

  // One character and its colour.
  struct Sign {
    int color = kPlain; // of the 256, or one of these
    std::string text;
    static constexpr int kPlain = -1, kFaint = -2;
  };
  // With colour, the character says how full the cell is and the colour what of; without, a letter says what of.
  Sign sign_of(const MapPart& part, std::size_t cell) const {
    const CellState state = state_of(part, cell);
    if (state == CellState::Outside || state == CellState::Reserved) return {Sign::kPlain, " "};
    if (state != CellState::Live) return {Sign::kFaint, std::string(mark(state))};
    if (shows_blocks()) return block_sign(part, cell);
    const double density = density_of(part, cell);
    const MapClass* kind = classes_.find(part.cells[cell]);
    if (kind == nullptr) return {density_terminal_color(density), std::string(shade(density))};
    return {kind->terminal_color, style_.color ? std::string(shade(density)) : std::string(1, kind->letter)};
  }
  std::string cells_text(const MapPart& part, std::size_t first, std::size_t end) const {
    std::string text;
    for (std::size_t cell = first; cell < end;) {
      Sign run = sign_of(part, cell++);
      // A colour is named once for all the cells that have it.
      for (; cell < end; ++cell) {
        const Sign next = sign_of(part, cell);
        if (next.color != run.color) break;
        run.text += next.text;
      }
      text += run.color == Sign::kPlain   ? run.text
              : run.color == Sign::kFaint ? style_.dim(run.text)
                                          : painted(static_cast<std::uint8_t>(run.color), run.text);
    }
    return text;
  }

  // On one page the blocks themselves are told apart, unless something else was asked for.
  bool shows_blocks() const { return map_.zoom == MapZoom::Page && classes_.by() == MapBy::Density; }
  // The letter of the first block in the cell.
  Sign block_sign(const MapPart& part, std::size_t cell) const {
    const std::uint64_t begin = part.grid.address_of(cell);
    const auto found = std::partition_point(map_.blocks.begin(), map_.blocks.end(), [&](const MapBlock& row) {
      return row.block.address + std::max<std::uint64_t>(row.block.size, 1) <= begin;
    });
    const auto number = static_cast<std::size_t>(found - map_.blocks.begin());
    // Neighbours differ.
    constexpr std::array<std::uint8_t, 4> kTurns{208, 37, 142, 169};
    return {kTurns[number % kTurns.size()], std::string(1, block_letter(number))};
  }

  void add_heading(const MapPart& part) {
    const HeapRange& range = part.range;
    const bool whole = part.begin == range.begin && map_.zoom <= MapZoom::Arena;
    const std::uint64_t begin = whole ? range.begin : part.begin, end = whole ? range.end : part.end;
    out_ += style_.bold(printable(part.label)) + ": " + address_text(begin) + "-" + address_text(end);
    if (map_.zoom == MapZoom::Page) {
      out_ += ", one page\n";
      return;
    }
    const std::uint64_t bytes = part.end - part.begin;
    const std::string reserved = whole && end > part.end ? fmt::format(" of {} reserved", bytes_text(end - begin)) : "";
    Cost live = range.figures.live;
    if (!whole) {
      live = {0, map_.live.blocks};
      for (const Cell& cell : part.cells) live.bytes += cell.live_bytes; // of blocks that reach beyond, their part
    }
    out_ += fmt::format("\n  {}{}, {} used by {}; a cell is {}\n", bytes_text(bytes), reserved,
                        percent_text(live.bytes, bytes), count_of(live.blocks, "block"),
                        binary_size_text(part.grid.cell_bytes));
    if (whole && live.blocks > 1) add_figures(range.figures);
  }

  void add_figures(const RangeFigures& figures) {
    const std::string fragmentation = fragmentation_text(figures), pages = pages_text(figures);
    const std::size_t width = style_.width == 0 ? 80 : style_.width;
    const bool fits = fragmentation.size() + pages.size() + 4 <= width;
    out_ += "  " + fragmentation + (fits ? "; " : "\n  ") + pages + "\n";
  }

  void add_part(const MapPart& part) {
    add_heading(part);
    for (std::size_t row = 0; row < part.grid.cells; row += map_.columns) {
      const std::size_t end = std::min(row + map_.columns, part.grid.cells);
      if (skip_same(part, row)) continue;
      std::string line =
          style_.dim(padded_left(address_text(std::max(part.grid.address_of(row), part.begin)), kLabelColumns - 1)) +
          " ";
      line += cells_text(part, row, end);
      while (line.ends_with(' ')) line.pop_back();
      out_ += line + "\n";
      add_pointer(part, row, end);
    }
    out_ += "\n";
  }

  // Several rows in which nothing ever was are summed up, not shown.
  bool skip_same(const MapPart& part, std::size_t row) {
    if (row < quiet_until_) return true;
    quiet_until_ = 0;
    const auto is_quiet = [&](std::size_t from) {
      if (from + map_.columns > part.grid.cells) return false;
      for (std::size_t cell = from; cell < from + map_.columns; ++cell)
        if (state_of(part, cell) != CellState::NeverUsed || is_marked(part, cell)) return false;
      return true;
    };
    std::size_t end = row;
    while (is_quiet(end)) end += map_.columns;
    const std::size_t rows = (end - row) / map_.columns;
    if (rows < 3) return false;
    out_ += std::string(kLabelColumns, ' ') +
            style_.dim(fmt::format("({} rows, {}, never used)", rows, bytes_text((end - row) * part.grid.cell_bytes))) +
            "\n";
    quiet_until_ = end;
    return true;
  }

  bool is_marked(const MapPart& part, std::size_t cell) const {
    return map_.address && part.grid.holds(*map_.address) && part.grid.cell_of(*map_.address) == cell;
  }

  void add_pointer(const MapPart& part, std::size_t row, std::size_t end) {
    if (!map_.address || !part.grid.holds(*map_.address)) return;
    const std::size_t cell = part.grid.cell_of(*map_.address);
    if (cell < row || cell >= end) return;
    const std::string text = address_text(*map_.address);
    const std::size_t at = kLabelColumns + (cell - row);
    // The address stands behind the pointer where there is room.
    if (cell - row + text.size() + 1 < map_.columns)
      out_ += std::string(at, ' ') + style_.bold("^ " + text) + "\n";
    else
      out_ += std::string(at - text.size() - 1, ' ') + style_.bold(text + " ^") + "\n";
  }

  void add_legend() {
    bool never = false, before = false;
    for (const MapPart& part : map_.parts) {
      for (std::size_t cell = 0; cell < part.grid.cells; ++cell) {
        never = never || state_of(part, cell) == CellState::NeverUsed;
        before = before || state_of(part, cell) == CellState::UsedBefore;
      }
    }
    std::string line;
    if (shows_blocks())
      line = "letters: the blocks listed";
    else if (classes_.by() == MapBy::Density || style_.color)
      add_density_legend(line);
    if (before) line += std::string(line.empty() ? "" : "   ") + "- free, used before";
    // On a long tape it is not known of all cells.
    if (never)
      line += std::string(line.empty() ? "" : "   ") + std::string(mark(CellState::NeverUsed)) +
              (map_.used_before_exact ? " never used" : " free, not seen in use");
    if (!line.empty()) out_ += line + "\n";
    add_class_legend();
    if (!map_.from_kernel)
      out_ += style_.dim("the tape does not say what was mapped; ranges are guessed from where blocks lie") + "\n";
  }

  void add_density_legend(std::string& line) const {
    constexpr std::array<std::string_view, 4> kQuarters{"to 25 %", "to 50", "to 75", "full"};
    if (style_.utf8) {
      for (std::size_t i = 0; i < kShades.size(); ++i) {
        const double density = (static_cast<double>(i) + 0.5) / static_cast<double>(kShades.size());
        const std::string text = classes_.by() == MapBy::Density ? painted(density_terminal_color(density), kShades[i])
                                                                 : std::string(kShades[i]);
        line += (i == 0 ? "" : "  ") + text + " " + std::string(kQuarters[i]);
      }
    } else {
      for (std::size_t i = 0; i < kLetters.size(); ++i) {
        const double density = (static_cast<double>(i) + 0.5) / static_cast<double>(kLetters.size());
        line += classes_.by() == MapBy::Density ? painted(density_terminal_color(density), kLetters[i])
                                                : std::string(kLetters[i]);
      }
      line += " from little to full";
    }
  }

  std::string legend_sign(const MapClass& kind) const {
    return style_.color ? painted(kind.terminal_color, style_.utf8 ? "█" : "#") : std::string(1, kind.letter);
  }

  void add_class_legend() {
    if (classes_.by() == MapBy::Density) return;
    static constexpr std::array<std::string_view, 4> kTitles{
        "",
        "the largest block in the cell:", "the oldest block in the cell:", "the stack that holds most of the cell:"};
    out_ += std::string(kTitles[static_cast<std::size_t>(classes_.by())]) + "\n";
    const bool stacks = classes_.by() == MapBy::Stack;
    const std::size_t width = style_.width == 0 ? 80 : style_.width;
    std::string line;
    for (const MapClass& kind : classes_.classes()) {
      if (!kind.listed) continue;
      if (stacks) {
        const std::string text = kind.amount + "  " + kind.label;
        out_ += "  " + legend_sign(kind) + " " +
                (style_.width == 0 ? text : cut_off(text, width - std::min<std::size_t>(width, 4), style_)) + "\n";
        continue;
      }
      const std::size_t taken = columns_of(line) + kind.label.size() + 5;
      if (!line.empty() && taken > width) {
        out_ += legend_line_ + "\n";
        line.clear();
        legend_line_.clear();
      }
      // Colours take no columns.
      line += "  x " + kind.label;
      legend_line_ += "  " + legend_sign(kind) + " " + kind.label;
    }
    if (!legend_line_.empty()) out_ += legend_line_ + "\n";
  }

  const HeapMap& map_;
  const MapClasses& classes_;
  StackNames& names_;
  const TextStyle& style_;
  std::string out_;
  std::string legend_line_;
  std::size_t quiet_until_ = 0; // a cell: rows up to there are already summed up
};

} // namespace

std::size_t map_columns(unsigned width) {
  std::size_t columns = 16;
  const std::size_t room = (width == 0 ? 80 : width) - std::min<std::size_t>(width == 0 ? 80 : width, kLabelColumns);
  while (columns * 2 <= room && columns < 256) columns *= 2;
  return columns;
}

std::string fragmentation_text(const RangeFigures& figures) {
  return fmt::format("fragmentation {} of {} from first to last block, largest gap {}",
                     percent_text(figures.unused(), figures.span()), bytes_text(figures.span()),
                     bytes_text(figures.gap_bytes));
}

std::string pages_text(const RangeFigures& figures) {
  const std::string pages = count_of(figures.pages, "page") + " in use";
  if (figures.little_pages == 0) return pages;
  return fmt::format("{}, {} of them for less than {} bytes", pages, with_separators(figures.little_pages), kLittle);
}

std::string map_text(const HeapMap& map, const MapClasses& classes, StackNames& names, const TextStyle& style) {
  return Picture(map, classes, names, style).draw();
}

} // namespace heaptape
