#include "report/pages/budget.h"

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/figures/worst_text.h"
#include "report/leaks/leak_report.h"
#include "report/select/runtime_pools.h"
#include "report/text/json_writer.h"

namespace heaptape {
namespace {

// A size to compare with another: exact when rounding would hide the difference.
std::string size_beside(std::uint64_t bytes, std::uint64_t other) {
  const bool hidden = bytes != other && bytes_text(bytes) == bytes_text(other);
  return hidden ? with_separators(bytes) + " bytes" : bytes_text(bytes);
}

class Budget {
public:
  Budget(const TapeView& view, FrameFilter& filter, Suppressions& suppressions)
      : view_(view), filter_(filter), suppressions_(suppressions) {}

  Result<std::vector<BudgetVerdict>> check(const BudgetLimits& limits) {
    bytes("max-peak", "peak", limits.max_peak, CostKind::Peak);
    bytes("max-leaked", "still live at the end", limits.max_leaked, CostKind::Leaks);
    blocks("max-leaked-blocks", "still live at the end", limits.max_leaked_blocks, CostKind::Leaks);
    bytes("max-allocated", "allocated", limits.max_allocated, CostKind::Allocations);
    blocks("max-allocations", "allocated", limits.max_allocations, CostKind::Allocations);
    blocks("max-temporary", "temporary", limits.max_temporary, CostKind::Temporary);
    if (const Result<> done = lost(limits); !done) return done.error();
    // What was counted before the damage still holds; the heap at a moment is counted now.
    if (view_.uncounted_events() != 0 || (!limits.no_growth.empty() && view_.damage().missing_events != 0))
      return Error{ErrorCode::Malformed, "the tape is damaged, so its limits cannot be checked; record again"};
    if (const Result<> done = growth(limits.no_growth); !done) return done.error();
    return std::move(verdicts_);
  }

private:
  std::vector<StackCost> costs(CostKind kind) {
    std::vector<StackCost> list = costs_of(view_, kind);
    filter_.apply(view_.names(), list);
    if (kind == CostKind::Leaks) {
      suppressions_.apply(view_.names(), list);
      RuntimePools(view_.names()).take_from(list); // nobody's leak
    }
    return list;
  }

  void bytes(const char* name, const char* what, std::optional<std::uint64_t> limit, CostKind kind) {
    if (!limit) return;
    std::vector<StackCost> list = costs(kind);
    const std::uint64_t value = sum_of(list).bytes;
    add_bytes(name, what, *limit, value, std::move(list));
  }
  void add_bytes(const char* name, const char* what, std::uint64_t limit, std::uint64_t value,
                 std::vector<StackCost> list) {
    verdicts_.push_back({name,
                         fmt::format("{}: {}, allowed {}", what, exact_bytes_text(value), size_beside(limit, value)),
                         value, limit, std::move(list)});
  }

  Result<> lost(const BudgetLimits& limits) {
    if (!limits.max_lost && !limits.max_lost_blocks) return Unit{};
    const std::optional<std::size_t> snapshot = snapshot_at_end(view_.tape());
    if (!snapshot) return Error{ErrorCode::NotFound, how_to_get_leaks(view_)};
    const Result<LeakReport> leaks =
        make_leak_report(view_, *snapshot, {}, {.suppressions = &suppressions_, .filter = &filter_});
    if (!leaks) return leaks.error();
    const Cost sum = sum_of(leaks.value().lost);
    if (limits.max_lost) add_bytes("max-lost", "lost at the end", *limits.max_lost, sum.bytes, leaks.value().lost);
    if (limits.max_lost_blocks)
      add_blocks("max-lost-blocks", "lost at the end", *limits.max_lost_blocks, sum.blocks, leaks.value().lost);
    return Unit{};
  }

  void blocks(const char* name, const char* what, std::optional<std::uint64_t> limit, CostKind kind) {
    if (!limit) return;
    std::vector<StackCost> list = costs(kind);
    const std::uint64_t value = sum_of(list).blocks;
    add_blocks(name, what, *limit, value, std::move(list));
  }
  void add_blocks(const char* name, const char* what, std::uint64_t limit, std::uint64_t value,
                  std::vector<StackCost> list) {
    verdicts_.push_back({name,
                         fmt::format("{}: {}, allowed {}", what, count_of(value, "block"), with_separators(limit)),
                         value, limit, std::move(list), Measure::Blocks});
  }

  Result<> growth(const std::vector<std::string>& names) {
    std::vector<Moment> moments;
    for (const std::string& name : names) {
      Result<Moment> moment = view_.moment(name);
      if (!moment) return moment.error();
      moments.push_back(moment.value());
    }
    for (std::size_t i = 1; i < moments.size(); ++i) {
      const Moment &first = moments[0], &now = moments[i];
      if (now.event < first.event)
        return Error{ErrorCode::Usage, "--no-growth: " + now.label + " is earlier than " + first.label};
      const std::uint64_t before = live_bytes(first), after = live_bytes(now);
      std::vector<StackCost> list = window_costs(view_, first, now, WindowPart::StillLive);
      filter_.apply(view_.names(), list);
      verdicts_.push_back({"no-growth",
                           fmt::format("growth: {} at {}, {} at {}", size_beside(before, after), printable(first.label),
                                       size_beside(after, before), printable(now.label)),
                           after, before, std::move(list)});
    }
    return Unit{};
  }

  std::uint64_t live_bytes(const Moment& moment) {
    std::vector<StackCost> list = live_costs(view_, moment);
    filter_.apply(view_.names(), list);
    return sum_of(list).bytes;
  }

  const TapeView& view_;
  FrameFilter& filter_;
  Suppressions& suppressions_;
  std::vector<BudgetVerdict> verdicts_;
};

} // namespace

Result<std::vector<BudgetVerdict>> check_budget(const TapeView& view, const BudgetLimits& limits, FrameFilter& filter,
                                                Suppressions& suppressions) {
  return Budget(view, filter, suppressions).check(limits);
}

std::string budget_text(const TapeView& view, const std::vector<BudgetVerdict>& verdicts, const TextStyle& style) {
  std::string out;
  for (const BudgetVerdict& verdict : verdicts) {
    out += (verdict.holds() ? style.good("ok  ") : style.alarm("OVER")) + "  " + verdict.text + "\n";
    if (verdict.holds()) continue;
    const Worst worst =
        worst_functions(view.names(), verdict.culprits, {.rows = 3, .callers = 3, .measure = verdict.measure});
    out += worst_text(view.names(), worst, verdict.measure, style);
  }
  return out;
}

std::string budget_json(const TapeView& view, const std::vector<BudgetVerdict>& verdicts) {
  JsonWriter json;
  json.begin_array();
  for (const BudgetVerdict& verdict : verdicts) {
    json.begin_object().field("limit", std::string_view(verdict.name)).field("holds", verdict.holds());
    json.field("value", verdict.value).field("allowed", verdict.limit).field("text", std::string_view(verdict.text));
    if (!verdict.holds()) {
      write_worst_json(json.key("worst"), view.names(),
                       worst_functions(view.names(), verdict.culprits, {.measure = verdict.measure}));
    }
    json.end_object();
  }
  return json.end_array().text() + "\n";
}

} // namespace heaptape
