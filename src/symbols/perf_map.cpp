#include "symbols/perf_map.h"

#include <charconv>

namespace heaptape {

namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 10;

// Takes a hexadecimal number and the spaces behind it off the front of a line.
bool take_number(std::string_view& line, std::uint64_t& number) {
  if (line.starts_with("0x") || line.starts_with("0X")) line.remove_prefix(2);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number, 16);
  if (error != std::errc() || end == line.data()) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (line.empty() || (line.front() != ' ' && line.front() != '\t')) return false;
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  return true;
}

} // namespace

void each_perf_map_line(std::string_view text, const std::function<void(const PerfMapLine&)>& visit) {
  std::size_t at = 0;
  for (std::size_t lines = 0; lines < kMostPerfMapLines && at < text.size(); ++lines) {
    const std::size_t end = text.find('\n', at);
    if (end == text.npos) return; // still being written
    std::string_view line = text.substr(at, end - at);
    PerfMapLine found{.offset = at};
    at = end + 1;
    if (line.size() > kLongestLine) continue;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!take_number(line, found.start) || !take_number(line, found.size) || line.empty()) continue;
    if (found.size == 0 || found.start + found.size < found.start) continue;
    found.name = line;
    visit(found);
  }
}

} // namespace heaptape
