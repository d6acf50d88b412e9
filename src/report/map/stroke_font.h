// A small font for rasters. Letters are drawn as points on a grid of five columns and nine rows; neighbouring points
// are joined by round strokes, so that they look smooth at any size.
#pragma once

#include <cstddef>
#include <vector>

namespace heaptape {

inline constexpr double kGlyphAdvance = 6;  // columns from one letter to the next
inline constexpr double kGlyphBaseline = 6; // the row that letters stand on, counted from 0
inline constexpr double kGlyphLine = 10;    // rows of a line

struct Stroke {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  // Between the stroke's middle line and a point.
  double distance(double x, double y) const;
};

// Of a printable ASCII character; of others those of '?'. A blank has none.
std::vector<Stroke> strokes_of(char character);

} // namespace heaptape
