// Known leaks and memory errors that are not to be reported again, listed for the sanitizers or for valgrind.
//
//   leak:pattern      LeakSanitizer: any frame's function, source file or module contains the pattern. '*' stands for
//                     any text, '^' and '$' for its ends.
//   interceptor_via_fun:pattern, interceptor_via_lib:pattern
//                     AddressSanitizer: the same for errors that were found in a call.
//   interceptor_name:pattern
//                     ... for the function that was called: "memcpy", "free"
//   alloc_dealloc_mismatch:pattern
//                     ... for releases by another family than made the block
//   { name            valgrind: the frames match these lines, from the innermost on, with '*' and '?'. "..." stands
//     Memcheck:Leak   for any number of frames. Frames of malloc, operator new, free and so on are skipped: they are
//     fun:malloc      not on a tape. Memcheck:Free is about wrong releases, Memcheck:Addr1, Addr2, ... about reads and
//     fun:setup*      writes outside of blocks, of whatever size. Entries for anything else are ignored.
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

// What can be suppressed, as bits.
enum class SuppressionOf : std::uint8_t {
  Nothing = 0,
  Leaks = 1,
  Accesses = 2,   // outside of blocks, of released ones
  Releases = 4,   // of what is not a block, with a wrong size
  Mismatches = 8, // by functions of another family
};
constexpr SuppressionOf operator|(SuppressionOf a, SuppressionOf b) {
  return static_cast<SuppressionOf>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool share(SuppressionOf a, SuppressionOf b) {
  return (static_cast<unsigned>(a) & static_cast<unsigned>(b)) != 0;
}

struct Suppression {
  std::string name;                     // "leak:pattern", or the valgrind entry's name
  std::string pattern{};                // a sanitizer's, ready for is_like(); empty: it is valgrind's
  std::vector<SuppressionLine> lines{}; // valgrind's, innermost first
  Cost used{};                          // what it has suppressed so far of leaks
  SuppressionOf of = SuppressionOf::Leaks;
  bool of_called = false;   // the pattern is that of the function that was called, which is not on the stack
  std::uint64_t errors = 0; // that it has suppressed so far
};

// A memory error that may be known.
struct SuppressedError {
  SuppressionOf of = SuppressionOf::Nothing; // one bit
  std::vector<StackId> stacks{};             // one of them has to match
  std::string called{};                      // the function in which it was found: "free", "memcpy"; empty: none
  std::uint64_t count = 1;
};

// One thread at a time.
class Suppressions {
public:
  // Adds the entries of a file or text; `where` is named in an Error, with the line.
  Result<> add(std::string_view text, const std::string& where);

  // Takes out of `costs` whatever an entry matches and counts it there.
  void apply(StackNames& names, std::vector<StackCost>& costs);

  // Whether an entry matches an error; the first that does counts it.
  bool suppress(StackNames& names, const SuppressedError& error);

  bool empty() const { return entries_.empty(); }
  const std::vector<Suppression>& entries() const { return entries_; }
  Cost suppressed() const;

private:
  std::vector<Suppression> entries_;
};

} // namespace heaptape
