// Reads "12", "0.5", ".5" at the start of a text. By hand, because the library's way links the mathematics library in,
// which every start of heaptape would pay for.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace heaptape {

struct Decimal {
  double number = 0;
  std::string_view rest; // what follows it
};

// nullopt when the text does not begin with a digit, or with a point and a digit. No sign, no exponent.
constexpr std::optional<Decimal> read_decimal(std::string_view text) {
  double digits = 0;
  double scale = 1;
  bool any = false;
  bool fraction = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    any = true;
    digits = digits * 10 + (c - '0');
    if (fraction) scale *= 10;
  }
  if (!any) return std::nullopt;
  return Decimal{digits / scale, text.substr(at)};
}

static_assert(read_decimal("12.5s")->number == 12.5 && read_decimal("12.5s")->rest == "s");
static_assert(read_decimal("1.2.3")->rest == ".3" && !read_decimal(".") && !read_decimal("-1"));

} // namespace heaptape
