// /tmp/perf-PID.map, in which a program names the code that it makes at run time: a line "START SIZE NAME" for each function, numbers
// in hexadecimal. Lines are only ever added; one that overlaps an earlier one replaces it from then on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace heaptape {

struct PerfMapLine {
  std::uint64_t start = 0;
  std::uint64_t size = 0;  // not 0
  std::string_view name{}; // not empty; may contain spaces
  std::size_t offset = 0;  // of the line in the file
};

// Calls visit() for every whole line that makes sense, in order; takes any bytes. At most kMostPerfMapLines of them.
inline constexpr std::size_t kMostPerfMapLines = std::size_t{4} << 20;
void each_perf_map_line(std::string_view text, const std::function<void(const PerfMapLine&)>& visit);

} // namespace heaptape
