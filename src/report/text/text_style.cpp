#include "report/text/text_style.h"

#include <algorithm>

namespace heaptape {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

} // namespace

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (const char c : text) columns += begins_character(c);
  return columns;
}

std::string shortened(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::size_t kept = 0, at = 0;
  for (; at < text.size(); ++at) {
    if (begins_character(text[at]) && ++kept == columns) break;
  }
  return std::string(text.substr(0, at)) + "…";
}

std::string folded_lines(std::string_view text, std::size_t columns) {
  if (columns == 0) return std::string(text);
  std::string folded;
  folded.reserve(text.size());
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t indent = std::min(line.find_first_not_of(' ') + 4, columns / 2);
    std::size_t taken = 0, begin = 0, last_blank = 0;
    bool escape = false;
    for (std::size_t at = 0; at < line.size(); ++at) {
      if (line[at] == '\x1b') escape = true;
      if (!escape) {
        taken += begins_character(line[at]);
        if (line[at] == ' ' && taken > indent + 1) last_blank = at;
      } else if (line[at] == 'm') {
        escape = false;
      }
      if (taken <= columns || last_blank <= begin) continue;
      const std::string_view part = line.substr(begin, last_blank - begin);
      folded.append(part.substr(0, part.find_last_not_of(' ') + 1)).append("\n").append(indent, ' ');
      begin = last_blank + 1;
      taken = indent + columns_of(line.substr(begin, at + 1 - begin));
    }
    folded.append(line.substr(begin)).append("\n");
  }
  return folded;
}

std::string padded_left(std::string_view text, std::size_t columns) {
  const std::size_t taken = columns_of(text);
  return std::string(text) + std::string(taken < columns ? columns - taken : 0, ' ');
}

std::string padded_right(std::string_view text, std::size_t columns) {
  const std::size_t taken = columns_of(text);
  return std::string(taken < columns ? columns - taken : 0, ' ') + std::string(text);
}

} // namespace heaptape
