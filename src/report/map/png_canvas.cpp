#include "report/map/png_canvas.h"

#include <png.h>

#include <algorithm>
#include <cmath>

#include "report/map/stroke_font.h"

namespace heaptape {
namespace {

double scale_of(const Lettering& lettering) { return lettering.size / kGlyphLine; }

std::size_t letters_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

} // namespace

PngCanvas::PngCanvas(std::size_t width, std::size_t height)
    : width_(width), height_(height), pixels_(width * height, Rgb{255, 255, 255}) {}

void PngCanvas::rectangle(double x, double y, double width, double height, Rgb color) {
  const auto clip = [](double at, std::size_t end) {
    return static_cast<std::size_t>(std::lround(std::clamp(at, 0.0, static_cast<double>(end))));
  };
  const std::size_t left = clip(x, width_), right = clip(x + width, width_);
  const std::size_t top = clip(y, height_), bottom = clip(y + height, height_);
  for (std::size_t row = top; row < bottom; ++row)
    std::fill(pixels_.begin() + static_cast<std::ptrdiff_t>(row * width_ + left),
              pixels_.begin() + static_cast<std::ptrdiff_t>(row * width_ + std::max(left, right)), color);
}

void PngCanvas::blend(long x, long y, double cover, Rgb color) {
  if (x < 0 || y < 0 || x >= static_cast<long>(width_) || y >= static_cast<long>(height_)) return;
  Rgb& pixel = pixels_[static_cast<std::size_t>(y) * width_ + static_cast<std::size_t>(x)];
  const auto mix = [&](std::uint8_t& part, std::uint8_t to) {
    part = static_cast<std::uint8_t>(std::lround(part + (to - part) * cover));
  };
  mix(pixel.red, color.red);
  mix(pixel.green, color.green);
  mix(pixel.blue, color.blue);
}

void PngCanvas::glyph(double x, double y, char character, double scale, const Lettering& lettering) {
  const std::vector<Stroke> strokes = strokes_of(character);
  if (strokes.empty()) return;
  const double half = lettering.bold ? 0.62 : 0.42; // of the stroke's width, in points of the font
  const double top = y - kGlyphBaseline * scale;
  const auto from_x = static_cast<long>(std::floor(x - scale)), to_x = static_cast<long>(std::ceil(x + 6 * scale));
  const auto from_y = static_cast<long>(std::floor(top - scale)), to_y = static_cast<long>(std::ceil(top + 10 * scale));
  for (long row = from_y; row < to_y; ++row) {
    for (long column = from_x; column < to_x; ++column) {
      const double at_x = (static_cast<double>(column) + 0.5 - x) / scale;
      const double at_y = (static_cast<double>(row) + 0.5 - top) / scale;
      double nearest = 100;
      for (const Stroke& stroke : strokes) nearest = std::min(nearest, stroke.distance(at_x, at_y));
      const double cover = std::clamp(0.5 + (half - nearest) * scale, 0.0, 1.0);
      if (cover > 0) blend(column, row, cover, lettering.color);
    }
  }
}

double PngCanvas::text_width(std::string_view text, const Lettering& lettering) const {
  return static_cast<double>(letters_of(text)) * kGlyphAdvance * scale_of(lettering);
}

void PngCanvas::text(double x, double y, std::string_view text, const Lettering& lettering) {
  const double width = text_width(text, lettering);
  if (lettering.align == Align::Right) x -= width;
  if (lettering.align == Align::Middle) x -= width / 2;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) continue; // the rest of a character that is drawn already
    glyph(x, y, c, scale_of(lettering), lettering);
    x += kGlyphAdvance * scale_of(lettering);
  }
}

void PngCanvas::image(double x, double y, std::size_t width, std::size_t height, std::span<const Rgb> pixels) {
  const long left = std::lround(x), top = std::lround(y);
  for (std::size_t row = 0; row < height; ++row)
    for (std::size_t column = 0; column < width; ++column)
      blend(left + static_cast<long>(column), top + static_cast<long>(row), 1, pixels[row * width + column]);
}

Result<std::string> PngCanvas::file() { return encode_png(width_, height_, pixels_); }

Result<std::string> encode_png(std::size_t width, std::size_t height, std::span<const Rgb> pixels) {
  static_assert(sizeof(Rgb) == 3);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  const auto failed = [&] {
    return Error{ErrorCode::Io, std::string("cannot make the PNG picture: ") + image.message};
  };
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string file(bytes, '\0');
  if (png_image_write_to_memory(&image, file.data(), &bytes, 0, pixels.data(), 0, nullptr) == 0) return failed();
  file.resize(bytes);
  return file;
}

} // namespace heaptape
