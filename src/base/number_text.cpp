#include "base/number_text.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>

#include "base/decimal_text.h"

namespace heaptape {

std::string decimal_text(double number, int places) {
  char text[400]; // the largest double has 309 digits
  const int size = std::snprintf(text, sizeof text, "%.*f", places, number);
  return {text, static_cast<std::size_t>(size)};
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
  return with_separators(number) + " " + std::string(singular) + (number == 1 ? "" : "s");
}

std::string count_of(std::uint64_t number, std::string_view singular, std::string_view plural) {
  return with_separators(number) + ' ' + std::string(number == 1 ? singular : plural);
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
  return decimal_text(amount, amount < 10 ? 2 : 1) + " " + kUnits[unit];
}

std::string exact_bytes_text(std::uint64_t bytes) {
  if (bytes < 1'000) return bytes_text(bytes);
  return bytes_text(bytes) + " (" + with_separators(bytes) + " bytes)";
}

std::string duration_text(std::uint64_t us) {
  const double amount = static_cast<double>(us);
  if (us < 1'000) return std::to_string(us) + " us";
  if (us < 1'000'000) return decimal_text(amount / 1e3, 2) + " ms";
  if (us < 60'000'000) return decimal_text(amount / 1e6, 3) + " s";
  const std::uint64_t minutes = us / 60'000'000;
  const std::uint64_t tenths = us % 60'000'000 / 100'000;
  if (minutes >= 60) return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
  return std::to_string(minutes) + " min " + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

std::string seconds_text(std::uint64_t us) {
  const std::string fraction = std::to_string(us % 1'000'000);
  return std::to_string(us / 1'000'000) + "." + std::string(6 - fraction.size(), '0') + fraction;
}

std::string percent_text(std::uint64_t part, std::uint64_t whole) {
  return decimal_text(whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole), 1) + " %";
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
  struct ByteUnit {
    std::string_view name;
    double bytes;
  };
  static constexpr std::array kUnits{ByteUnit{"", 1},        ByteUnit{"K", 1e3},     ByteUnit{"M", 1e6},
                                     ByteUnit{"G", 1e9},     ByteUnit{"T", 1e12},    ByteUnit{"Ki", 0x1p10},
                                     ByteUnit{"Mi", 0x1p20}, ByteUnit{"Gi", 0x1p30}, ByteUnit{"Ti", 0x1p40}};
  // Through a double the last digits of a large number would be lost.
  std::uint64_t exact = 0;
  const char* const end = text.data() + text.size();
  if (const auto [rest, status] = std::from_chars(text.data(), end, exact);
      status == std::errc{} && rest == end && exact >> 63 == 0)
    return exact;
  if (const auto decimal = read_decimal(text)) {
    std::string unit(decimal->rest);
    if (unit.ends_with('B')) unit.pop_back();
    if (!unit.empty() && unit[0] >= 'a' && unit[0] <= 'z') unit[0] = static_cast<char>(unit[0] - 'a' + 'A');
    for (const ByteUnit& each : kUnits) {
      const double bytes = decimal->number * each.bytes;
      if (unit == each.name && bytes < 0x1p63) return static_cast<std::uint64_t>(bytes + 0.5);
    }
  }
  return Error{ErrorCode::Usage,
               "'" + printable(text) + "' is not a number of bytes such as 4096, 12kB, 200M or 1.5GiB"};
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
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += {kDigits[value >> 4], kDigits[value & 15]};
  }
  return text;
}

} // namespace heaptape
