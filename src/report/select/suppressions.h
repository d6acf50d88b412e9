// Known leaks that are not to be reported again, listed for LeakSanitizer or for valgrind.
//
//   leak:pattern      LeakSanitizer: any frame's function, source file or module contains the pattern. '*' stands for
//                     any text, '^' and '$' for its ends.
//   { name            valgrind: the frames match these lines, from the innermost on, with '*' and '?'. "..." stands
//     Memcheck:Leak   for any number of frames. Frames of malloc, operator new and so on are skipped: they are not on
//     fun:malloc      a tape. Entries for anything but leaks are ignored.
//     fun:setup*
//     obj:*/libx.so
//     ...
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/heap/cost.h"
#include "base/result.h"
#include "report/names/stack_names.h"
#include "report/select/stack_cost.h"

namespace heaptape {

// Whether a text is like a pattern with '*' and '?', from its first to its last character.
bool is_like(std::string_view text, std::string_view pattern);

struct SuppressionLine {
  enum class Of : std::uint8_t { Function, Object, Source, Any };
  Of of = Of::Any; // Any: "...", any number of frames
  std::string pattern{};
};

struct Suppression {
  std::string name;                     // "leak:pattern", or the valgrind entry's name
  std::string pattern{};                // LeakSanitizer's, ready for is_like(); empty: it is valgrind's
  std::vector<SuppressionLine> lines{}; // valgrind's, innermost first
  Cost used{};                          // what it has suppressed so far
};

// One thread at a time.
class Suppressions {
public:
  // Adds the entries of a file or text; `where` is named in an Error, with the line.
  Result<> add(std::string_view text, const std::string& where);

  // Takes out of `costs` whatever an entry matches and counts it there.
  void apply(StackNames& names, std::vector<StackCost>& costs);

  bool empty() const { return entries_.empty(); }
  const std::vector<Suppression>& entries() const { return entries_; }
  Cost suppressed() const;

private:
  std::vector<Suppression> entries_;
};

} // namespace heaptape
