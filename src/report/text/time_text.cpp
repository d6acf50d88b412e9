#include "report/text/time_text.h"

#include <charconv>

#include "base/number_text.h"

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

std::string cpu_time_text(std::uint64_t us) {
  if (us < 1000) return std::to_string(us) + " us";
  const double ms = static_cast<double>(us) / 1e3;
  if (us < 1'000'000) return decimal_text(ms, us < 10'000 ? 1 : 0) + " ms";
  return decimal_text(ms / 1e3, 2) + " s";
}

} // namespace heaptape
