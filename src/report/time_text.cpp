#include "report/time_text.h"

#include <charconv>

namespace heaptape {

std::optional<std::uint64_t> parse_time_us(std::string_view text) {
  double amount = 0;
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), amount, std::chars_format::fixed);
  if (status != std::errc{} || !(amount >= 0)) return std::nullopt;
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  double us = -1;
  if (unit == "s") us = amount * 1e6;
  if (unit == "ms") us = amount * 1e3;
  if (unit == "us" || unit == "µs") us = amount;
  if (unit == "min") us = amount * 60e6;
  if (us < 0 || us >= 0x1p62) return std::nullopt;
  return static_cast<std::uint64_t>(us + 0.5);
}

} // namespace heaptape
