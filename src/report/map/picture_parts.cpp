#include "report/map/picture_parts.h"

#include "report/map/png_canvas.h"
#include "report/map/svg_canvas.h"

namespace heaptape {

std::unique_ptr<Canvas> make_canvas(PictureFormat format, std::size_t width, std::size_t height,
                                    const std::string& title) {
  if (format == PictureFormat::Png) return std::make_unique<PngCanvas>(width, height);
  return std::make_unique<SvgCanvas>(width, height, title);
}

double draw_swatch(Canvas& canvas, double x, double y, Rgb color, const std::string& label) {
  canvas.rectangle(x, y - 11, 13, 13, color);
  canvas.text(x + 20, y, label, kPlain);
  return x + 20 + canvas.text_width(label, kPlain) + 28;
}

double draw_ramp(Canvas& canvas, double x, double y) {
  constexpr int kSteps = 32;
  canvas.text(x, y, "little", kPlain);
  x += canvas.text_width("little", kPlain) + 8;
  for (int i = 0; i < kSteps; ++i) canvas.rectangle(x + i * 5, y - 11, 5, 13, density_color((i + 0.5) / kSteps));
  x += kSteps * 5 + 8;
  canvas.text(x, y, "full", kPlain);
  return x + canvas.text_width("full", kPlain) + 28;
}

std::string fitted(const Canvas& canvas, const std::string& text, const Lettering& lettering, double width) {
  std::string kept = text;
  while (kept.size() > 3 && canvas.text_width(kept, lettering) > width) kept = kept.substr(0, kept.size() - 4) + "...";
  return kept;
}

} // namespace heaptape
