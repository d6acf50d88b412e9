// A raster that becomes a PNG file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/map/canvas.h"

namespace heaptape {

// Pixels row by row as a PNG file.
Result<std::string> encode_png(std::size_t width, std::size_t height, std::span<const Rgb> pixels);

class PngCanvas final : public Canvas {
public:
  // White. Width and height are not 0.
  PngCanvas(std::size_t width, std::size_t height);

  void rectangle(double x, double y, double width, double height, Rgb color) override;
  void image(double x, double y, std::size_t width, std::size_t height, std::span<const Rgb> pixels) override;
  void text(double x, double y, std::string_view text, const Lettering& lettering) override;
  double text_width(std::string_view text, const Lettering& lettering) const override;
  Result<std::string> file() override;

  std::size_t width() const { return width_; }
  std::size_t height() const { return height_; }
  Rgb pixel(std::size_t x, std::size_t y) const { return pixels_[y * width_ + x]; }

private:
  void glyph(double x, double y, char character, double scale, const Lettering& lettering);
  // Covers the pixel with so much of the colour, from 0 to 1.
  void blend(long x, long y, double cover, Rgb color);

  std::size_t width_, height_;
  std::vector<Rgb> pixels_; // row by row
};

} // namespace heaptape
