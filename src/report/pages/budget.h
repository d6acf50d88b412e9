// `heaptape budget`: whether a run stayed within limits, and who is to blame when it did not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/figures/costs.h"
#include "report/select/frame_filter.h"
#include "report/select/suppressions.h"
#include "report/text/text_style.h"
#include "report/view/tape_view.h"

namespace heaptape {

struct BudgetLimits {
  std::optional<std::uint64_t> max_peak{}, max_leaked{}, max_allocated{};               // bytes
  std::optional<std::uint64_t> max_leaked_blocks{}, max_allocations{}, max_temporary{}; // blocks
  // Definitely and indirectly lost at the end, by reachability; the tape must have the memory of that moment.
  std::optional<std::uint64_t> max_lost{}, max_lost_blocks{};
  std::vector<std::string> no_growth{}; // moments (report/view/position.h): no more may be live than at the first
};

struct BudgetVerdict {
  std::string name; // of the limit
  std::string text; // "peak: 13.9 MB, allowed 200 MB"
  std::uint64_t value = 0, limit = 0;
  std::vector<StackCost> culprits{};
  Measure measure = Measure::Bytes;

  bool holds() const { return value <= limit; }
};

// One verdict per limit, and per moment behind the first. An Error: a moment is not on the tape or
// comes too early, or the tape is damaged.
Result<std::vector<BudgetVerdict>> check_budget(const TapeView& view, const BudgetLimits& limits, FrameFilter& filter,
                                                Suppressions& suppressions);

// A line per verdict; below those that do not hold, the functions to blame.
std::string budget_text(const TapeView& view, const std::vector<BudgetVerdict>& verdicts, const TextStyle& style);
// One array on a line.
std::string budget_json(const TapeView& view, const std::vector<BudgetVerdict>& verdicts);

} // namespace heaptape
