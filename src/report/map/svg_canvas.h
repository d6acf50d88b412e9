// An SVG document, with its text as text.
#pragma once

#include <cstddef>
#include <string>

#include "report/map/canvas.h"

namespace heaptape {

class SvgCanvas final : public Canvas {
public:
  SvgCanvas(std::size_t width, std::size_t height, std::string_view title);

  void rectangle(double x, double y, double width, double height, Rgb color) override;
  void image(double x, double y, std::size_t width, std::size_t height, std::span<const Rgb> pixels) override;
  void text(double x, double y, std::string_view text, const Lettering& lettering) override;
  double text_width(std::string_view text, const Lettering& lettering) const override;
  Result<std::string> file() override;

private:
  std::string out_;
  Result<> state_ = Unit{}; // of the images so far
};

} // namespace heaptape
