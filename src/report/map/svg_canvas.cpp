#include "report/map/svg_canvas.h"

#include <fmt/format.h>

#include "base/format_into.h"
#include "report/map/png_canvas.h"
#include "report/text/text_style.h"
#include "report/text/xml_text.h"

namespace heaptape {
namespace {

std::string hex(Rgb color) { return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue); }

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t j = i; j < i + 3; ++j)
      three = three << 8 | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0u);
    for (std::size_t digit = 0; digit < 4; ++digit)
      out += i + digit > bytes.size() ? '=' : kDigits[three >> (18 - 6 * digit) & 63];
  }
  return out;
}

} // namespace

SvgCanvas::SvgCanvas(std::size_t width, std::size_t height, std::string_view title) {
  out_ = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
                     "shape-rendering=\"crispEdges\" font-family=\"ui-monospace, Menlo, Consolas, monospace\">\n"
                     "<title>{2}</title>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
                     width, height, xml_escaped(title));
}

void SvgCanvas::rectangle(double x, double y, double width, double height, Rgb color) {
  format_into(out_, "<rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" fill=\"{}\"/>\n", x, y, width, height,
              hex(color));
}

void SvgCanvas::text(double x, double y, std::string_view text, const Lettering& lettering) {
  const std::string_view anchor = lettering.align == Align::Right    ? " text-anchor=\"end\""
                                  : lettering.align == Align::Middle ? " text-anchor=\"middle\""
                                                                     : "";
  format_into(out_, "<text x=\"{:g}\" y=\"{:g}\" font-size=\"{:g}\" fill=\"{}\"{}{} xml:space=\"preserve\">{}</text>\n",
              x, y, lettering.size, hex(lettering.color), anchor, lettering.bold ? " font-weight=\"bold\"" : "",
              xml_escaped(text));
}

double SvgCanvas::text_width(std::string_view text, const Lettering& lettering) const {
  return static_cast<double>(columns_of(text)) * lettering.size * 0.6;
}

void SvgCanvas::image(double x, double y, std::size_t width, std::size_t height, std::span<const Rgb> pixels) {
  const Result<std::string> png = encode_png(width, height, pixels);
  if (!png) {
    state_ = png.error();
    return;
  }
  format_into(out_,
              "<image x=\"{:g}\" y=\"{:g}\" width=\"{}\" height=\"{}\" style=\"image-rendering:pixelated\" "
              "href=\"data:image/png;base64,{}\"/>\n",
              x, y, width, height, base64(png.value()));
}

Result<std::string> SvgCanvas::file() {
  if (!state_) return state_.error();
  return out_ + "</svg>\n";
}

} // namespace heaptape
