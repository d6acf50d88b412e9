#include "report/map/map_classes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <unordered_set>

#include "base/number_text.h"
#include "report/text/text_style.h"

namespace heaptape {
namespace {

struct Tone {
  Rgb color;
  std::uint8_t terminal;
};
// Neighbours differ in lightness as well as in hue.
constexpr std::array kTones = std::to_array<Tone>({
    {{31, 111, 180}, 32},   {{232, 119, 34}, 208}, {{44, 140, 70}, 34},    {{200, 40, 60}, 160},
    {{130, 90, 180}, 98},   {{0, 165, 175}, 37},   {{230, 175, 20}, 178},  {{215, 90, 160}, 169},
    {{120, 80, 50}, 94},    {{120, 175, 60}, 106}, {{20, 60, 120}, 18},    {{250, 150, 130}, 210},
    {{90, 200, 170}, 79},   {{110, 30, 80}, 89},   {{170, 150, 230}, 141}, {{90, 100, 20}, 58},
    {{120, 190, 240}, 117}, {{160, 60, 20}, 130},  {{190, 190, 90}, 143},  {{60, 60, 90}, 60},
    {{245, 190, 220}, 218}, {{0, 95, 90}, 23},     {{210, 130, 220}, 176}, {{95, 130, 150}, 67},
    {{190, 220, 120}, 150}, {{70, 70, 70}, 240},
});
constexpr Rgb kOthersColor{128, 130, 136};
constexpr std::uint8_t kOthersTerminal = 248;

std::uint8_t mixed(std::uint8_t from, std::uint8_t to, double part) {
  return static_cast<std::uint8_t>(std::lround(from + (to - from) * part));
}

// From cold to hot, for classes that have an order.
Tone ordered_tone(std::size_t number, std::size_t count) {
  constexpr std::array kStops = std::to_array<Rgb>(
      {{68, 60, 140}, {45, 115, 180}, {30, 160, 150}, {110, 190, 80}, {235, 190, 40}, {235, 110, 40}, {180, 25, 50}});
  constexpr std::array<std::uint8_t, 13> kTerminal{61, 63, 32, 38, 37, 36, 71, 112, 148, 178, 208, 202, 160};
  const double at = count < 2 ? 0 : static_cast<double>(number) / static_cast<double>(count - 1);
  const double place = at * static_cast<double>(kStops.size() - 1);
  const auto stop = std::min(static_cast<std::size_t>(place), kStops.size() - 2);
  const double part = place - static_cast<double>(stop);
  const Rgb& a = kStops[stop];
  const Rgb& b = kStops[stop + 1];
  return {{mixed(a.red, b.red, part), mixed(a.green, b.green, part), mixed(a.blue, b.blue, part)},
          kTerminal[static_cast<std::size_t>(at * static_cast<double>(kTerminal.size() - 1))]};
}

// a: up to 16 bytes, b: up to 32, ... and more than 128 MiB.
constexpr std::size_t kSizeClasses = 25;
std::size_t size_class(std::uint64_t bytes) {
  const auto bits = static_cast<std::size_t>(std::bit_width(bytes == 0 ? 0 : bytes - 1));
  return std::min(bits <= 4 ? 0 : bits - 4, kSizeClasses - 1);
}
MapClass make_size_class(std::size_t number) {
  MapClass made;
  made.letter = static_cast<char>('a' + number);
  made.label = number + 1 == kSizeClasses ? "larger" : "up to " + binary_size_text(std::uint64_t{16} << number);
  return made;
}

struct AgeClass {
  std::uint64_t below_us;
  const char* label;
};
constexpr std::array kAges = std::to_array<AgeClass>({{1000, "younger than 1 ms"},
                                                      {10'000, "1 to 10 ms"},
                                                      {100'000, "10 to 100 ms"},
                                                      {1'000'000, "0.1 to 1 s"},
                                                      {10'000'000, "1 to 10 s"},
                                                      {60'000'000, "10 s to 1 min"},
                                                      {600'000'000, "1 to 10 min"},
                                                      {3'600'000'000, "10 min to 1 h"},
                                                      {~std::uint64_t{0}, "older than 1 h"}});
std::size_t age_class(std::uint64_t us) {
  std::size_t number = 0;
  while (number + 1 < kAges.size() && us >= kAges[number].below_us) ++number;
  return number;
}
MapClass make_age_class(std::size_t number) {
  MapClass made;
  made.letter = static_cast<char>('0' + number);
  made.label = kAges[number].label;
  return made;
}

} // namespace

CellState state_of(const MapPart& part, std::size_t cell) {
  const std::uint64_t begin = part.grid.address_of(cell), end = begin + part.grid.cell_bytes;
  if (part.cells[cell].is_used()) return CellState::Live;
  if (end <= part.begin || begin >= part.end) return CellState::Outside;
  if (part.used_before[cell] != 0) return CellState::UsedBefore;
  // Of a range of other kinds than an arena, which part can be accessed is not known.
  const bool from_begin = part.range.kind == RangeKind::ThreadArena || part.range.kind == RangeKind::MainHeap;
  if (from_begin && begin >= part.range.begin + part.range.committed) return CellState::Reserved;
  return CellState::NeverUsed;
}

double density_of(const MapPart& part, std::size_t cell) {
  // The first and last cell are measured by what there is of them.
  const std::uint64_t begin = std::max(part.grid.address_of(cell), part.begin);
  const std::uint64_t end = std::min(part.grid.address_of(cell) + part.grid.cell_bytes, part.end);
  if (begin >= end) return 0;
  return std::min(1.0, static_cast<double>(part.cells[cell].live_bytes) / static_cast<double>(end - begin));
}

MapClasses::MapClasses(const HeapMap& map, MapBy by, StackNames* names) : by_(by), now_us_(map.time_us) {
  if (by == MapBy::Size) add_used(map, kSizeClasses, make_size_class);
  if (by == MapBy::Age) add_used(map, kAges.size(), make_age_class);
  if (by == MapBy::Stack) add_stacks(map, *names);
}

std::size_t MapClasses::number_of(const Cell& cell) const {
  if (by_ == MapBy::Size) return size_class(cell.largest);
  if (by_ == MapBy::Age) return age_class(now_us_ - std::min(now_us_, cell.oldest_us));
  return cell.stack.value < by_stack_.size() ? by_stack_[cell.stack.value] : place_.size() - 1;
}

const MapClass* MapClasses::find(const Cell& cell) const {
  return by_ == MapBy::Density ? nullptr : &classes_[place_[number_of(cell)]];
}

void MapClasses::add_used(const HeapMap& map, std::size_t count, MapClass (*make)(std::size_t)) {
  std::vector<bool> occurs(count);
  for (const MapPart& part : map.parts)
    for (const Cell& cell : part.cells)
      if (cell.is_used()) occurs[number_of(cell)] = true;
  place_.resize(count);
  const auto used = static_cast<std::size_t>(std::count(occurs.begin(), occurs.end(), true));
  for (std::size_t number = 0; number < count; ++number) {
    if (!occurs[number]) continue;
    place_[number] = classes_.size();
    MapClass made = make(number);
    const Tone tone = ordered_tone(classes_.size(), used);
    made.color = tone.color;
    made.terminal_color = tone.terminal;
    classes_.push_back(std::move(made));
  }
}

void MapClasses::add_stacks(const HeapMap& map, StackNames& names) {
  const auto amount = [&](const Cost& cost) {
    return padded_right(percent_text(cost.bytes, map.live.bytes), 7) + "  " + padded_right(bytes_text(cost.bytes), 9);
  };
  std::unordered_set<StackId> seen;
  for (const MapPart& part : map.parts)
    for (const Cell& cell : part.cells)
      if (cell.live_bytes != 0) seen.insert(cell.stack);
  Plumbing plumbing(names);
  Cost others = map.live;
  for (const StackCost& row : map.stacks) {
    // A letter that stands nowhere needs no meaning.
    const std::size_t number = classes_.size();
    if (number == kTones.size() || !seen.contains(row.stack)) continue;
    classes_.push_back({static_cast<char>('a' + number), charged_functions(names, plumbing, row.stack, 4),
                        amount(row.cost), kTones[number].color, kTones[number].terminal});
    if (row.stack.value >= by_stack_.size()) by_stack_.resize(row.stack.value + std::size_t{1}, kTones.size());
    by_stack_[row.stack.value] = number;
    place_.push_back(number);
    others -= row.cost;
  }
  place_.resize(kTones.size() + 1, classes_.size());
  classes_.push_back({'*', "other stacks", amount(others), kOthersColor, kOthersTerminal, others.blocks != 0});
}

Rgb density_color(double density) {
  constexpr std::array kStops =
      std::to_array<Rgb>({{255, 236, 179}, {255, 200, 87}, {245, 141, 50}, {212, 62, 45}, {122, 12, 46}});
  const double place = std::clamp(density, 0.0, 1.0) * static_cast<double>(kStops.size() - 1);
  const auto stop = std::min(static_cast<std::size_t>(place), kStops.size() - 2);
  const double part = place - static_cast<double>(stop);
  const Rgb& a = kStops[stop];
  const Rgb& b = kStops[stop + 1];
  return {mixed(a.red, b.red, part), mixed(a.green, b.green, part), mixed(a.blue, b.blue, part)};
}

std::uint8_t density_terminal_color(double density) {
  constexpr std::array<std::uint8_t, 8> kRamp{25, 31, 37, 71, 142, 178, 208, 196};
  return kRamp[std::min(static_cast<std::size_t>(density * static_cast<double>(kRamp.size())), kRamp.size() - 1)];
}

std::string charged_functions(StackNames& names, Plumbing& plumbing, StackId stack, std::size_t most) {
  const std::vector<FrameId> frames = names.frames_of(stack);
  if (frames.empty()) return "(no stack)";
  std::string text;
  std::size_t shown = 0;
  for (std::size_t i = charged_frame(plumbing, frames), inside = i; i < frames.size() && shown < most; ++i) {
    // Callers that say nothing are left out.
    if (shown != 0 && (plumbing.between(frames[inside], frames[i]) || starts_thread(names, frames[i]))) continue;
    inside = i;
    text += (shown++ == 0 ? "" : " <- ") + printable(names.function(frames[i]));
  }
  return text;
}

} // namespace heaptape
