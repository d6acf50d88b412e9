// Something to draw on: a raster that becomes a PNG file, or an SVG document. Coordinates are pixels from the upper
// left corner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "report/map/map_classes.h"

namespace heaptape {

enum class PictureFormat : std::uint8_t { Png, Svg };

enum class Align : std::uint8_t { Left, Middle, Right };

struct Lettering {
  double size = 13; // of a line; the letters themselves are smaller
  Rgb color{};
  Align align = Align::Left;
  bool bold = false;
};

class Canvas {
public:
  virtual ~Canvas() = default;
  // Filled. What lies outside the canvas is cut off.
  virtual void rectangle(double x, double y, double width, double height, Rgb color) = 0;
  // A raster in its own size, row by row; pixels has width * height of them.
  virtual void image(double x, double y, std::size_t width, std::size_t height, std::span<const Rgb> pixels) = 0;
  // Baseline at y. Control characters have been made visible; what is not ASCII may be drawn as '?'.
  virtual void text(double x, double y, std::string_view text, const Lettering& lettering) = 0;
  // How wide text would be, about.
  virtual double text_width(std::string_view text, const Lettering& lettering) const = 0;
  // The finished file.
  virtual Result<std::string> file() = 0;
};

} // namespace heaptape
