#include "report/pages/overview_sections.h"

#include "base/number_text.h"
#include "report/figures/worst_text.h"
#include "report/pages/runtime_text.h"

namespace heaptape {
namespace {

constexpr std::size_t kRows = 5, kFewRows = 3;
constexpr double kLeastPercent = 0.1; // of a list; smaller functions are summed up
// A list of short-lived or temporary blocks is worth showing from this share of all blocks on, and this many of them.
constexpr std::uint64_t kChurnPercent = 5, kLeastChurn = 1000;
// One of containers that grew: from this many growths on, and this share of all blocks or of all bytes.
constexpr std::uint64_t kLeastGrowths = 100, kGrowthPercent = 1;
constexpr std::uint64_t kLeastGrowthsEach = 2;

class Sections {
public:
  Sections(const TapeView& view, const OverviewRequest& request)
      : view_(view), names_(view.names()), request_(request), pools_(view.names()) {}

  std::vector<OverviewSection> make() {
    add_peak();
    add_leaks();
    add_growth();
    add_churn("short_lived", "Short-lived", "freed within 1 ms: reserve() or reuse", &Figures::short_lived);
    add_regrown();
    add_churn("temporary", "Temporary", "freed at once, as the thread's very next event", &Figures::temporary);
    add_allocations();
    return std::move(sections_);
  }

private:
  // Takes out what the filter refuses, and the pools of runtimes, which it returns.
  std::vector<RuntimePool> leave_out(std::vector<StackCost>& costs) {
    request_.filter.apply(names_, costs);
    return request_.show_runtime ? std::vector<RuntimePool>() : pools_.take_from(costs);
  }

  // Ranks what the filter accepts, the pools of runtimes set apart. nullptr: there is nothing.
  OverviewSection* add(OverviewSection section, std::vector<StackCost> costs, WorstOptions options) {
    section.runtime = leave_out(costs);
    if (costs.empty() && section.runtime.empty()) return nullptr;
    options.measure = section.measure;
    options.least_percent = kLeastPercent;
    section.worst = worst_functions(names_, costs, options);
    return &sections_.emplace_back(std::move(section));
  }

  std::vector<StackCost> by_stack(Cost Figures::*which) const {
    std::vector<StackCost> costs;
    for (const StackFigures& row : view_.findings().by_stack)
      if (row.*which != Cost{}) costs.push_back({.stack = row.stack, .cost = row.*which});
    return costs;
  }

  void add_peak() { add({"peak", "Peak", "", Measure::Bytes, {}}, costs_of(view_, CostKind::Peak), {.rows = kRows}); }

  void add_leaks() {
    std::vector<StackCost> costs = costs_of(view_, CostKind::Leaks);
    request_.suppressions.apply(names_, costs);
    const bool running = request_.is_running && request_.leaks == nullptr;
    OverviewSection* section =
        add({"leaks",
             running ? "Live now" : "Never freed",
             running                     ? "blocks live of all made"
             : request_.leaks != nullptr ? "blocks never freed of all made, and what of them is lost"
                                         : "blocks never freed of all made",
             Measure::Bytes,
             {}},
            std::move(costs), {.rows = kRows});
    if (section == nullptr) return;
    const auto made = costs_by_function(names_, by_stack(&Figures::allocated));
    const auto lost = request_.leaks != nullptr ? costs_by_function(names_, request_.leaks->lost)
                                                : std::unordered_map<NameId, Cost>();
    for (WorstRow& row : section->worst.rows) {
      if (!row.has_frame) continue;
      const auto found = made.find(names_[row.frame].function);
      if (found == made.end()) continue;
      row.made = found->second;
      row.counted = row.cost.blocks == row.made->blocks
                        ? "all " + with_separators(row.cost.blocks)
                        : with_separators(row.cost.blocks) + " of " + with_separators(row.made->blocks);
      if (request_.leaks != nullptr) row.counted += lost_of(names_[row.frame].function, lost);
    }
    if (section->worst.others != 0) section->worst.others_counted = with_separators(section->worst.others_cost.blocks);
  }

  static std::string lost_of(NameId function, const std::unordered_map<NameId, Cost>& lost) {
    const auto found = lost.find(function);
    if (found == lost.end()) return ", reachable";
    return ", " + bytes_text(found->second.bytes) + " lost";
  }

  void add_growth() {
    OverviewSection* section =
        add({"growth", "Growing steadily", "more at the end than after a quarter of the run", Measure::Bytes, {}},
            growth_costs(view_), {.rows = kFewRows});
    if (section == nullptr) return;
    for (WorstRow& row : section->worst.rows) row.counted = "+" + with_separators(row.cost.blocks) + "x";
    section->worst.others_counted = "+" + with_separators(section->worst.others_cost.blocks) + "x";
  }

  // Names the blocks after what they are: "400,002 vectors".
  static void name_blocks(OverviewSection& section) {
    for (WorstRow& row : section.worst.rows) row.counted = count_of(row.cost.blocks, row.noun);
    section.worst.others_counted = count_of(section.worst.others_cost.blocks, "block");
  }

  bool is_much(std::uint64_t blocks) const {
    return blocks >= kLeastChurn && blocks >= view_.findings().totals.allocated_blocks / 100 * kChurnPercent;
  }

  // A list by number of blocks, if they are many.
  void add_churn(const char* name, const char* title, const char* note, Cost Figures::*which) {
    OverviewSection* section =
        add({name, title, note, Measure::Blocks, {}}, by_stack(which), {.rows = kFewRows, .nouns = true});
    if (section == nullptr) return;
    if (is_much(section->worst.total.blocks))
      name_blocks(*section);
    else
      sections_.pop_back();
  }

  void add_regrown() {
    std::vector<StackCost> costs, containers;
    for (const StackFigures& row : view_.findings().by_stack) {
      const Cost kept = row.allocated - row.regrown;
      if (row.regrown.blocks < kLeastGrowthsEach * kept.blocks || row.regrown.blocks == 0) continue;
      costs.push_back({.stack = row.stack, .cost = row.regrown});
      containers.push_back({.stack = row.stack, .cost = kept});
    }
    OverviewSection* section =
        add({"regrown", "Regrown", "bytes copied as containers grew: reserve() what is known", Measure::Bytes, {}},
            std::move(costs), {.rows = kFewRows, .nouns = true});
    if (section == nullptr) return;
    const HeapTotals& totals = view_.findings().totals;
    const Cost sum = section->worst.total; // without what runtimes did for themselves
    const bool matters = sum.blocks >= totals.allocated_blocks / 100 * kGrowthPercent ||
                         sum.bytes >= totals.allocated_bytes / 100 * kGrowthPercent;
    if (sum.blocks < kLeastGrowths || !matters) {
      sections_.pop_back();
      return;
    }
    leave_out(containers);
    const auto by_function = costs_by_function(names_, containers);
    for (WorstRow& row : section->worst.rows) {
      if (!row.has_frame) continue;
      const auto found = by_function.find(names_[row.frame].function);
      row.containers = found == by_function.end() ? 1 : std::max<std::uint64_t>(found->second.blocks, 1);
      const std::uint64_t each = (row.cost.blocks + *row.containers / 2) / *row.containers;
      row.counted = count_of(*row.containers, row.noun) + " grew " + with_separators(each) + " times" +
                    (*row.containers == 1 ? "" : " each");
    }
    section->worst.others_counted = with_separators(section->worst.others_cost.blocks) + " growths";
  }

  void add_allocations() {
    add({"allocations", "Allocated", "", Measure::Bytes, {}}, costs_of(view_, CostKind::Allocations), {.rows = kRows});
  }

  const TapeView& view_;
  StackNames& names_;
  const OverviewRequest& request_;
  RuntimePools pools_;
  std::vector<OverviewSection> sections_;
};

} // namespace

std::vector<OverviewSection> make_overview_sections(const TapeView& view, const OverviewRequest& request) {
  return Sections(view, request).make();
}

std::string section_text(const StackNames& names, const OverviewSection& section, const TextStyle& style) {
  std::string note = std::string(section.measure == Measure::Blocks ? ", by function and count" : ", by function") +
                     (section.note.empty() ? "" : "; " + section.note);
  const std::size_t title = columns_of(section.title);
  if (style.width != 0) note = shortened(note, style.width > title ? style.width - title : 0);
  std::string out = style.bold(section.title) + style.dim(note) + "\n";
  out += section.worst.rows.empty() ? "  nothing\n" : worst_text(names, section.worst, section.measure, style);
  // The lists of what there was at a moment add up to it; the others are about what can be done.
  if (section.name != "peak" && section.name != "leaks") return out;
  return out + runtime_line(section.runtime, style);
}

} // namespace heaptape
