// What a cell's colour or letter stands for: how full it is, or the size, age or stack of what lies in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "report/figures/worst.h"
#include "report/map/heap_map.h"
#include "report/names/stack_names.h"

namespace heaptape {

enum class MapBy : std::uint8_t { Density, Size, Age, Stack };

struct Rgb {
  std::uint8_t red = 0, green = 0, blue = 0;
  friend bool operator==(const Rgb&, const Rgb&) = default;
};

// What can be said of a cell before anything else.
enum class CellState : std::uint8_t {
  Outside,   // of the range
  Reserved,  // address space without memory
  NeverUsed, // no block was ever seen there
  UsedBefore,
  Live,
};
CellState state_of(const MapPart& part, std::size_t cell);
// How full, from 0 to 1.
double density_of(const MapPart& part, std::size_t cell);

struct MapClass {
  char letter = ' ';
  std::string label;    // "up to 64 bytes", "less than 10 ms", "parse <- main"
  std::string amount{}; // of stacks: "41.2 %  1.20 MB"
  Rgb color{};
  std::uint8_t terminal_color = 0; // of the 256
  bool listed = true;              // in the legend
};

class MapClasses {
public:
  // The names are needed for MapBy::Stack alone.
  MapClasses(const HeapMap& map, MapBy by, StackNames* names);

  MapBy by() const { return by_; }
  // Those that occur, in order; none for MapBy::Density.
  const std::vector<MapClass>& classes() const { return classes_; }
  // The class of a cell with something live in it; nullptr for MapBy::Density.
  const MapClass* find(const Cell& cell) const;

private:
  std::size_t number_of(const Cell& cell) const;
  void add_used(const HeapMap& map, std::size_t count, MapClass (*make)(std::size_t number));
  void add_stacks(const HeapMap& map, StackNames& names);

  MapBy by_;
  std::uint64_t now_us_;
  std::vector<MapClass> classes_;
  std::vector<std::size_t> place_;    // class number -> place in classes_
  std::vector<std::size_t> by_stack_; // stack -> class number
};

// Light for little, dark for full.
Rgb density_color(double density);
// Of the 256 of a terminal.
std::uint8_t density_terminal_color(double density);

inline constexpr Rgb kNeverUsedColor{238, 241, 245}, kUsedBeforeColor{203, 211, 221};

// The function that a stack is charged to (report/names/charged_function.h) and its callers: "parse <- load <- main";
// "(no stack)".
std::string charged_functions(StackNames& names, Plumbing& plumbing, StackId stack, std::size_t most);

} // namespace heaptape
