// The heap over time as a picture of characters, with the resident memory as a line, the peak and the program's marks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/index/findings.h"
#include "report/text/text_style.h"
#include "tape/contents.h"

namespace heaptape {

// One column of the picture.
struct TimelineColumn {
  std::uint64_t from_us = 0, to_us = 0;
  std::uint64_t min_bytes = 0, max_bytes = 0; // live
  std::uint64_t rss_bytes = 0;                // 0: not known
};

// The run in this many stretches of equal length, from the level that fits best.
std::vector<TimelineColumn> timeline_columns(const Timeline& timeline, std::uint64_t end_us, std::size_t columns);

struct TimelinePicture {
  std::size_t width = 80;  // of the whole, axis included
  std::size_t height = 16; // of the picture alone
};
std::string timeline_text(const Findings& findings, const std::vector<Mark>& marks, const TimelinePicture& picture,
                          const TextStyle& style);

} // namespace heaptape
