#include "cli/quantities.h"

#include <fmt/format.h>

#include <charconv>
#include <ctime>
#include <iterator>
#include <optional>

#include "base/decimal_text.h"

namespace heaptape::cli {

Result<Position> parse_position(const std::string& text) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  std::uint64_t number = 0;
  if (const auto [rest, status] = std::from_chars(begin, end, number); status == std::errc{} && rest == end) {
    return Position{false, number};
  }
  const std::optional<Decimal> decimal = read_decimal(text);
  const double amount = decimal ? decimal->number : 0;
  const std::string_view unit = decimal ? decimal->rest : std::string_view();
  double us = -1;
  if (unit == "s") us = amount * 1e6;
  if (unit == "ms") us = amount * 1e3;
  if (unit == "us" || unit == "µs") us = amount;
  if (unit == "min") us = amount * 60e6;
  if (us < 0 || us >= 0x1p63) {
    return Error{ErrorCode::Usage,
                 "'" + text + "' is neither an event's number nor a time such as 12.5s, 200ms or 300us"};
  }
  return Position{true, static_cast<std::uint64_t>(us + 0.5)};
}

std::string local_time_text(std::uint64_t realtime_ns) {
  const auto seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
  std::tm parts{};
  char text[64];
  if (::localtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &parts) == 0) {
    return "unknown";
  }
  return text;
}

std::string hex_text(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<unsigned char>(byte));
  return text;
}

} // namespace heaptape::cli
