// Where in the program's source an instruction comes from. Text is kept as found in the debug information: nothing is
// demangled and no path is shortened, so that the caller decides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heaptape {

struct SourcePlace {
  std::string
      function{};     // linkage name where there is one ("_ZN5Cache6insertEi"), else the plain name; empty: not known
  std::string file{}; // empty: not known
  std::uint32_t line = 0;   // 0: not known
  std::uint32_t column = 0; // 0: not known
  friend bool operator==(const SourcePlace&, const SourcePlace&) = default;
};

// What one code address stands for, innermost first: functions inlined there, and last the function whose code it is.
// Line and column of an outer one are those of its call of the one inside. Empty: nothing is known.
using SourcePlaces = std::vector<SourcePlace>;

} // namespace heaptape
