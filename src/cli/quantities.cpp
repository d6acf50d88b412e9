#include "cli/quantities.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <ctime>
#include <iterator>
#include <optional>

#include "collector/decimal_text.h"

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

std::string with_separators(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t digits = text.size(); digits > 3;) {
    digits -= 3;
    text.insert(digits, 1, ',');
  }
  return text;
}

std::string count_of(std::uint64_t number, std::string_view singular) {
  return fmt::format("{} {}{}", with_separators(number), singular, number == 1 ? "" : "s");
}

std::string count_of(std::uint64_t number, std::string_view singular, std::string_view plural) {
  return fmt::format("{} {}", with_separators(number), number == 1 ? singular : plural);
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1'000) return count_of(bytes, "byte");
  static constexpr std::array kUnits{"kB", "MB", "GB", "TB", "PB", "EB"};
  double amount = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  // 999.95 would be shown as 1000.0.
  while (amount >= 999.95 && unit + 1 < kUnits.size()) {
    amount /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", amount, amount < 10 ? 2 : 1, kUnits[unit]);
}

std::string exact_bytes_text(std::uint64_t bytes) {
  if (bytes < 1'000) return bytes_text(bytes);
  return fmt::format("{} ({} bytes)", bytes_text(bytes), with_separators(bytes));
}

std::string duration_text(std::uint64_t us) {
  const double amount = static_cast<double>(us);
  if (us < 1'000) return fmt::format("{} us", us);
  if (us < 1'000'000) return fmt::format("{:.2f} ms", amount / 1e3);
  if (us < 60'000'000) return fmt::format("{:.3f} s", amount / 1e6);
  const std::uint64_t minutes = us / 60'000'000;
  const std::uint64_t tenths = us % 60'000'000 / 100'000;
  if (minutes < 60) return fmt::format("{} min {}.{} s", minutes, tenths / 10, tenths % 10);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string seconds_text(std::uint64_t us) { return fmt::format("{}.{:06}", us / 1'000'000, us % 1'000'000); }

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

std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      fmt::format_to(std::back_inserter(shown), "\\x{:02x}", byte);
    else
      shown += c;
  }
  return shown;
}

std::string hex_text(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<unsigned char>(byte));
  return text;
}

} // namespace heaptape::cli
