// Which stacks the user wants to see, by regular expressions over functions and modules.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "report/names/pattern.h"
#include "report/names/stack_names.h"
#include "report/select/stack_cost.h"

namespace heaptape {

struct FilterRule {
  bool include = true;
  bool of_module = false; // its whole path is compared; else the function's name, as shown and with its parameters
  Pattern pattern;
};

// Rules are asked frame by frame from the innermost out, at each frame in the order given; the first that matches
// decides. A stack that none matches is left out when there is any including rule. One thread at a time.
class FrameFilter {
public:
  explicit FrameFilter(std::vector<FilterRule> rules = {}) : rules_(std::move(rules)) {
    for (const FilterRule& rule : rules_) any_include_ |= rule.include;
  }

  bool accepts(StackNames& names, StackId stack);
  // Takes the stacks that it does not accept out of `costs`.
  void apply(StackNames& names, std::vector<StackCost>& costs);
  bool empty() const { return rules_.empty(); }

private:
  enum class Verdict : std::uint8_t { NotAsked, Silent, Include, Exclude };
  Verdict ask(const StackNames& names, FrameId frame) const;

  std::vector<FilterRule> rules_;
  bool any_include_ = false;
  const StackNames* names_ = nullptr; // that the verdicts are about
  std::vector<Verdict> verdicts_;     // by frame
};

} // namespace heaptape
