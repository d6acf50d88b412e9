#include "collector/observe/maps_text.h"

#include <charconv>
#include <utility>

namespace heaptape {

namespace {

// A hexadecimal number up to this character, which goes with it. False: there is none.
bool take_hex(std::string_view& line, char until, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number, 16);
  if (error != std::errc() || end == line.data() + line.size() || *end != until) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()) + 1);
  return true;
}

// A word and the blank behind it.
bool pass_word(std::string_view& line) {
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos || blank == 0) return false;
  line.remove_prefix(blank + 1);
  return true;
}

// "5581a000-5581b000 rw-p 00001000 fe:01 12345      /path"
bool parse_line(std::string_view line, MappedRange& range, std::string_view& name) {
  if (!take_hex(line, '-', range.begin) || !take_hex(line, ' ', range.end)) return false;
  if (line.size() < 5 || line[4] != ' ') return false;
  range.permissions = static_cast<std::uint8_t>((line[0] == 'r' ? kMapRead : 0) | (line[1] == 'w' ? kMapWrite : 0) |
                                                (line[2] == 'x' ? kMapExecute : 0) | (line[3] == 's' ? kMapShared : 0));
  line.remove_prefix(5);
  if (!take_hex(line, ' ', range.offset) || !pass_word(line)) return false;
  // The inode; nothing need follow it.
  const std::size_t inode_end = line.find_first_not_of("0123456789");
  line.remove_prefix(inode_end == std::string_view::npos ? line.size() : inode_end);
  const std::size_t first = line.find_first_not_of(' ');
  name = first == std::string_view::npos ? std::string_view() : line.substr(first);
  return range.begin < range.end && (range.begin | range.end | range.offset) % kMapUnit == 0;
}

} // namespace

void MapsText::add_line(std::string_view line, MapNames& names) {
  MappedRange range;
  std::string_view name;
  if (!parse_line(line, range, name) || (!ranges_.empty() && range.begin < ranges_.back().end)) return;
  range.name = names.number_of(name);
  ranges_.push_back(range);
}

void MapsText::add(std::string_view text, MapNames& names) {
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    if (newline == std::string_view::npos) {
      begun_ += text;
      return;
    }
    if (begun_.empty()) {
      add_line(text.substr(0, newline), names);
    } else {
      begun_ += text.substr(0, newline);
      add_line(begun_, names);
      begun_.clear();
    }
    text.remove_prefix(newline + 1);
  }
}

std::vector<MappedRange> MapsText::take() {
  begun_.clear();
  return std::exchange(ranges_, {});
}

} // namespace heaptape
