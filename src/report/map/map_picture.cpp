#include "report/map/map_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "report/map/map_text.h"
#include "report/map/picture_parts.h"

namespace heaptape {
namespace {

constexpr double kMargin = 24, kLabelWidth = 124, kCellWidth = 4;
constexpr double kTitleHeight = 44, kHeadingHeight = 24, kFiguresHeight = 18, kPartGap = 22, kLegendLine = 20;

class MapDrawing {
public:
  MapDrawing(const HeapMap& map, const MapClasses& classes) : map_(map), classes_(classes) {
    std::size_t rows = 0;
    for (const MapPart& part : map.parts) rows += rows_of(part);
    // Few rows are drawn taller.
    cell_height_ = std::clamp(std::floor(480.0 / static_cast<double>(std::max<std::size_t>(rows, 1))), 4.0, 12.0);
  }

  double width() const { return 2 * kMargin + kLabelWidth + static_cast<double>(map_.columns) * kCellWidth; }
  double height() const {
    double sum = kMargin + kTitleHeight;
    for (const MapPart& part : map_.parts) sum += part_height(part) + kPartGap;
    return sum + legend_height() + kMargin;
  }

  void draw(Canvas& canvas, const std::string& title) const {
    canvas.text(kMargin, kMargin + 16, fitted(canvas, title, kTitle, width() - 2 * kMargin), kTitle);
    double y = kMargin + kTitleHeight;
    for (const MapPart& part : map_.parts) {
      draw_part(canvas, part, y);
      y += part_height(part) + kPartGap;
    }
    draw_legend(canvas, y + 8);
  }

private:
  std::size_t rows_of(const MapPart& part) const { return (part.grid.cells + map_.columns - 1) / map_.columns; }
  // How fragmented a single block is goes without saying.
  static bool has_figures(const MapPart& part) { return part.range.figures.live.blocks > 1; }
  static double heading_height(const MapPart& part) {
    return kHeadingHeight + (has_figures(part) ? kFiguresHeight : 0);
  }
  double part_height(const MapPart& part) const {
    return heading_height(part) + std::max(static_cast<double>(rows_of(part)) * cell_height_, 14.0);
  }
  double legend_height() const {
    std::size_t lines = 1 + (map_.ranges_left_out != 0) + !map_.from_kernel;
    if (classes_.by() == MapBy::Stack) lines += classes_.classes().size() + 1;
    if (classes_.by() == MapBy::Size || classes_.by() == MapBy::Age) lines += classes_.classes().size() / 4 + 2;
    return static_cast<double>(lines) * kLegendLine + 8;
  }

  Rgb color_of(const MapPart& part, std::size_t cell) const {
    switch (state_of(part, cell)) {
    case CellState::Outside:
    case CellState::Reserved: return {255, 255, 255};
    case CellState::NeverUsed: return kNeverUsedColor;
    case CellState::UsedBefore: return kUsedBeforeColor;
    case CellState::Live: break;
    }
    // In steps, so that neighbours are often equal and become one rectangle.
    const double density = std::ceil(density_of(part, cell) * 32) / 32;
    const MapClass* kind = classes_.find(part.cells[cell]);
    if (kind == nullptr) return density_color(density);
    const double strength = 0.4 + 0.6 * density;
    const auto mix = [&](std::uint8_t to) {
      return static_cast<std::uint8_t>(std::lround(255 - (255 - to) * strength));
    };
    return {mix(kind->color.red), mix(kind->color.green), mix(kind->color.blue)};
  }

  void draw_heading(Canvas& canvas, const MapPart& part, double y) const {
    const RangeFigures& figures = part.range.figures;
    const std::string label = printable(part.label);
    canvas.text(kMargin, y + 11, label, kHeading);
    std::string range =
        fmt::format("{}-{}  {}", address_text(part.begin), address_text(part.end), bytes_text(part.end - part.begin));
    if (part.range.end > part.end && part.range.begin == part.begin)
      range += fmt::format(" of {} reserved", bytes_text(part.range.end - part.range.begin));
    range += fmt::format(", {} used by {}; a cell is {}", percent_text(figures.live.bytes, part.end - part.begin),
                         count_of(figures.live.blocks, "block"), binary_size_text(part.grid.cell_bytes));
    const double x = kMargin + canvas.text_width(label, kHeading) + 14;
    canvas.text(x, y + 11, fitted(canvas, range, kPlain, width() - kMargin - x), kPlain);
    if (has_figures(part))
      canvas.text(
          kMargin, y + 29,
          fitted(canvas, fragmentation_text(figures) + "; " + pages_text(figures), kFaint, width() - 2 * kMargin),
          kFaint);
  }

  void draw_part(Canvas& canvas, const MapPart& part, double y) const {
    draw_heading(canvas, part, y);
    y += heading_height(part);
    const double left = kMargin + kLabelWidth;
    double last_label = -100;
    for (std::size_t row = 0; row < rows_of(part); ++row) {
      const double top = y + static_cast<double>(row) * cell_height_;
      const std::size_t first = row * map_.columns, end = std::min(first + map_.columns, part.grid.cells);
      if (top - last_label >= 28) {
        canvas.text(left - 8, top + 10, address_text(std::max(part.grid.address_of(first), part.begin)), kFaintRight);
        last_label = top;
      }
      for (std::size_t cell = first; cell < end;) {
        const Rgb color = color_of(part, cell);
        const std::size_t from = cell++;
        while (cell < end && color_of(part, cell) == color) ++cell;
        canvas.rectangle(left + static_cast<double>(from - first) * kCellWidth, top,
                         static_cast<double>(cell - from) * kCellWidth, cell_height_, color);
      }
    }
    if (map_.address && part.grid.holds(*map_.address)) draw_pointer(canvas, part, left, y);
  }

  // A frame around the cell that was asked for.
  void draw_pointer(Canvas& canvas, const MapPart& part, double left, double y) const {
    const std::size_t cell = part.grid.cell_of(*map_.address);
    const double x = left + static_cast<double>(cell % map_.columns) * kCellWidth - 3;
    const double top = y + static_cast<double>(cell / map_.columns) * cell_height_ - 3;
    const double wide = kCellWidth + 6, high = cell_height_ + 6;
    canvas.rectangle(x, top, wide, 2, kInk);
    canvas.rectangle(x, top + high - 2, wide, 2, kInk);
    canvas.rectangle(x, top, 2, high, kInk);
    canvas.rectangle(x + wide - 2, top, 2, high, kInk);
  }

  void draw_legend(Canvas& canvas, double y) const {
    double x = classes_.by() == MapBy::Density ? draw_ramp(canvas, kMargin, y) : kMargin;
    x = draw_swatch(canvas, x, y, kUsedBeforeColor, "free, used before");
    draw_swatch(canvas, x, y, kNeverUsedColor, map_.used_before_exact ? "never used" : "free, not seen in use");
    y += kLegendLine;
    draw_classes(canvas, y);
    if (map_.ranges_left_out != 0) {
      canvas.text(kMargin, y,
                  fmt::format("not drawn: {} with {}", count_of(map_.ranges_left_out, "smaller range"),
                              bytes_text(map_.left_out.bytes)),
                  kPlain);
      y += kLegendLine;
    }
    if (!map_.from_kernel)
      canvas.text(kMargin, y, "The tape does not say what was mapped; ranges are guessed from where blocks lie.",
                  kFaint);
  }

  void draw_classes(Canvas& canvas, double& y) const {
    if (classes_.by() == MapBy::Density) return;
    const char* what = classes_.by() == MapBy::Size  ? "Colour: the largest block in the cell."
                       : classes_.by() == MapBy::Age ? "Colour: the oldest block in the cell."
                                                     : "Colour: the stack that holds most of the cell.";
    canvas.text(kMargin, y, std::string(what) + " The paler, the emptier.", kPlain);
    y += kLegendLine;
    double x = kMargin;
    for (const MapClass& kind : classes_.classes()) {
      if (!kind.listed) continue;
      if (classes_.by() == MapBy::Stack) {
        const std::string text = kind.amount + "  " + kind.label;
        draw_swatch(canvas, kMargin, y, kind.color, fitted(canvas, text, kPlain, width() - 2 * kMargin - 20));
        y += kLegendLine;
        continue;
      }
      if (x + canvas.text_width(kind.label, kPlain) + 20 > width() - kMargin) {
        x = kMargin;
        y += kLegendLine;
      }
      x = draw_swatch(canvas, x, y, kind.color, kind.label);
    }
    if (classes_.by() != MapBy::Stack) y += kLegendLine;
  }

  const HeapMap& map_;
  const MapClasses& classes_;
  double cell_height_ = kCellWidth;
};

} // namespace

Result<std::string> draw_map(const HeapMap& map, const MapClasses& classes, const std::string& title,
                             PictureFormat format) {
  const MapDrawing drawing(map, classes);
  const auto canvas =
      make_canvas(format, static_cast<std::size_t>(drawing.width()), static_cast<std::size_t>(drawing.height()), title);
  drawing.draw(*canvas, title);
  return canvas->file();
}

} // namespace heaptape
