// What both pictures are made of.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "report/map/canvas.h"

namespace heaptape {

inline constexpr Rgb kInk{32, 38, 46}, kFaintInk{108, 118, 130}, kLine{205, 212, 220};
inline constexpr Lettering kTitle{.size = 19, .color = kInk, .align = Align::Left, .bold = true};
inline constexpr Lettering kHeading{.size = 15, .color = kInk, .align = Align::Left, .bold = true};
inline constexpr Lettering kPlain{.size = 14, .color = kInk};
inline constexpr Lettering kFaint{.size = 13, .color = kFaintInk};
inline constexpr Lettering kFaintRight{.size = 13, .color = kFaintInk, .align = Align::Right};

std::unique_ptr<Canvas> make_canvas(PictureFormat format, std::size_t width, std::size_t height,
                                    const std::string& title);

// A coloured square and its meaning; gives where the next one may stand.
double draw_swatch(Canvas& canvas, double x, double y, Rgb color, const std::string& label);
// The ramp of density_color(), with its ends named.
double draw_ramp(Canvas& canvas, double x, double y);
// The text, or as much of it as fits.
std::string fitted(const Canvas& canvas, const std::string& text, const Lettering& lettering, double width);

} // namespace heaptape
