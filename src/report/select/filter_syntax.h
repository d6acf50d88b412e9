// The grammar of filters, without what the words mean:
//
//   filter      = [ either ]
//   either      = all { "or" all }
//   all         = one { "and" one }
//   one         = "not" one | "(" either ")" | FLAG | FIELD operator VALUE | FIELD "in" [ VALUE ] ".." [ VALUE ]
//   operator    = "=" | "!=" | "<" | "<=" | ">" | ">=" | "~" | "!~"
//
// A value is a word, or a text in "..." (where \" and \\ stand for " and \) or '...'. A word ends at a space, an
// operator or a parenthesis; behind ~ and !~, where it is a regular expression, only at a space or a parenthesis that
// it did not open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heaptape {

enum class FilterOperator : std::uint8_t {
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Match,
  NoMatch,
  In
};

struct FilterValue {
  std::string text{}; // without quotes
  std::size_t at = 0; // in the filter's text
};

struct FilterTerm {
  enum class Kind : std::uint8_t { All, Either, Not, Flag, Comparison };
  Kind kind = Kind::All;
  std::vector<FilterTerm> parts{}; // of All (none: everything) and Either; the one of Not

  // Of a flag or comparison.
  FilterValue field{};
  FilterOperator op = FilterOperator::Equal;
  FilterValue value{};   // with In: where the range begins; empty: at the first there is
  FilterValue end{};     // with In: where it ends, included; empty: at the last
  bool has_dots = false; // with In: the ".." was there
};

// Nested at most so deep.
inline constexpr std::size_t kFilterDepth = 64;

// The Error points at the place: see filter_error().
Result<FilterTerm> parse_filter_syntax(std::string_view text);

// A sentence, and below it the filter with a caret under one of its bytes. Of a long filter only the neighbourhood is
// shown.
Error filter_error(std::string_view text, std::size_t at, const std::string& sentence);

} // namespace heaptape
