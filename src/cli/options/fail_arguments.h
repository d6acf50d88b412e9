// The options of `heaptape check --mode fail`: which allocations get no memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "options/option_list.h"

namespace heaptape::cli {

class FailArguments {
public:
  static constexpr std::uint64_t kMostRuns = 1000;

  void add(OptionList& list);
  // Whether one of them was given.
  bool given() const;
  // What to put behind the mode: ",nth=3,above=100". Without what chooses among those that meet the conditions when `counting`: none fails.
  Result<std::string> text(bool counting) const;

  std::optional<std::uint64_t> sweep{}; // runs at most
  bool keep_output = false;
  std::string function{}; // below which they are; failing_functions() says where it lies

private:
  Result<> take_sweep(); // of its text

  std::optional<std::uint64_t> nth_{}, every_{}, seed_{};
  std::string probability_, above_, below_, module_;
  std::optional<std::string> sweep_{};
  friend class CheckArguments;
};

// "0.05" or "5%", as so many of 2^32.
Result<std::uint64_t> parse_probability(const std::string& text);

} // namespace heaptape::cli
