#include "report/map/page_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/number_text.h"
#include "report/map/map_classes.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kLeastGap = 32; // smaller ones are what the allocator needs itself

struct Line {
  bool marked = false;
  char letter = ' ';
  std::string address, bytes, event, age, made_by; // of a gap no event and no age
};

class PageTable {
public:
  PageTable(const HeapMap& map, StackNames& names, bool letters)
      : map_(map), part_(map.parts.front()), names_(names), plumbing_(names), letters_(letters) {
    lines_.push_back({false, ' ', "address", "bytes", "event", "age", "made by"});
    std::uint64_t at = part_.begin;
    for (std::size_t i = 0; i < map.blocks.size(); ++i) {
      const Block& block = map.blocks[i].block;
      add_gap(at, block.address);
      add_block(i);
      at = std::max(at, block.address + std::max<std::uint64_t>(block.size, 1));
    }
    add_gap(at, part_.end);
  }

  std::string text(const TextStyle& style) const {
    std::size_t address = 0, bytes = 0, event = 0, age = 0;
    for (const Line& line : lines_) {
      address = std::max(address, line.address.size());
      bytes = std::max(bytes, line.bytes.size());
      event = std::max(event, line.event.size());
      age = std::max(age, line.age.size());
    }
    std::string out;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const Line& line = lines_[i];
      std::string row = fmt::format("{} {} {:<{}}  {:>{}}  {:>{}}  {:>{}}  ", line.marked ? '>' : ' ', line.letter,
                                    line.address, address, line.bytes, bytes, line.event, event, line.age, age);
      const std::size_t room = style.width > row.size() + 8 ? style.width - row.size() : 8;
      row += style.width == 0 ? line.made_by : cut_off(line.made_by, room, style);
      const bool faint = i == 0 || line.event.empty();
      out += (line.marked ? style.bold(row) : faint ? style.dim(row) : row) + "\n";
    }
    if (small_gaps_)
      out += style.dim("  gaps of less than 32 bytes, mostly the allocator's own, are not listed") + "\n";
    return out;
  }

private:
  void add_gap(std::uint64_t begin, std::uint64_t end) {
    if (end <= begin) return;
    if (end - begin < kLeastGap) {
      small_gaps_ = true;
      return;
    }
    const bool marked = map_.address && *map_.address >= begin && *map_.address < end;
    lines_.push_back({marked, ' ', address_text(begin), with_separators(end - begin), "", "", "free"});
  }

  void add_block(std::size_t number) {
    const auto& [block, owner] = map_.blocks[number];
    const std::string_view reach = block.address < part_.begin              ? "(from before) "
                                   : block.address + block.size > part_.end ? "(goes on) "
                                                                            : "";
    Line line;
    line.marked = map_.address && *map_.address >= block.address &&
                  *map_.address - block.address < std::max<std::uint64_t>(block.size, 1);
    line.letter = letters_ ? block_letter(number) : ' ';
    line.address = address_text(block.address);
    line.bytes = with_separators(block.size);
    line.event = with_separators(block.event);
    line.age = duration_text(map_.time_us - std::min(map_.time_us, block.time_us));
    line.made_by = std::string(reach) + charged_functions(names_, plumbing_, owner.stack, 4);
    lines_.push_back(std::move(line));
  }

  const HeapMap& map_;
  const MapPart& part_;
  StackNames& names_;
  Plumbing plumbing_;
  bool letters_;
  std::vector<Line> lines_; // the first one is the title
  bool small_gaps_ = false;
};

} // namespace

char block_letter(std::size_t number) {
  constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return kAlphabet[number % kAlphabet.size()];
}

std::string page_text(const HeapMap& map, StackNames& names, bool letters, const TextStyle& style) {
  return PageTable(map, names, letters).text(style);
}

std::string cut_off(const std::string& text, std::size_t columns, const TextStyle& style) {
  if (style.utf8 || columns_of(text) <= columns || columns < 4) return shortened(text, columns);
  return text.substr(0, columns - 3) + "...";
}

} // namespace heaptape
