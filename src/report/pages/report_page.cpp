#include "report/pages/report_page.h"

#include "base/number_text.h"
#include "report/figures/costs.h"
#include "report/figures/cpu_report.h"
#include "report/pages/memory_page.h"
#include "report/text/mark_text.h"

namespace heaptape {
namespace {

std::string moment_text(const Moment& moment) {
  const std::string place = seconds_text(moment.time_us) + " s, event " + with_separators(moment.event);
  return moment.label.empty() || moment.label[0] == '.' || (moment.label[0] >= '0' && moment.label[0] <= '9')
             ? place
             : moment.label + " (" + place + ")";
}

class ReportMaker {
public:
  ReportMaker(const TapeView& view, ReportRequest request)
      : view_(view), request_(std::move(request)), where_(request_.where ? &*request_.where : nullptr),
        sizes_(request_.tree.by == GroupBy::Size ? Sizes::Apart : Sizes::Together) {}

  Result<ReportPage> make() {
    if (request_.asks_for_parts()) {
      if (const Result<> added = add_parts(); !added) return added.error();
    } else if (where_ != nullptr && !where_->matches_everything()) {
      for (const CostKind kind : {CostKind::Peak, CostKind::Leaks, CostKind::Allocations}) add_kind(kind);
    } else {
      page_.overview = make_overview(view_, {.suppressions = request_.suppressions,
                                             .filter = request_.filter,
                                             .is_running = request_.is_running,
                                             .show_runtime = request_.show_runtime});
      keep_used_suppressions();
      add_kind(CostKind::Peak);
      add_kind(CostKind::Leaks);
    }
    return std::move(page_);
  }

private:
  bool wants(Section section) const { return request_.sections.contains(section); }

  Result<> add_parts() {
    if (wants(Section::Cost)) {
      if (const Result<> added = add_cost(); !added) return added.error();
    }
    if (wants(Section::Leaks)) {
      if (const Result<> added = add_leaks(); !added) return added.error();
    }
    if (wants(Section::Peak)) add_kind(CostKind::Peak);
    if (wants(Section::TotalPeak)) add_total_peak();
    if (wants(Section::Mappings)) add_mappings();
    if (wants(Section::Allocations) && !request_.has_window()) add_kind(CostKind::Allocations);
    if (wants(Section::Temporary)) add_kind(CostKind::Temporary);
    if (!request_.at.empty()) {
      const Result<Moment> moment = view_.moment(request_.at);
      if (!moment) return moment.error();
      add("at", "Live at " + moment_text(moment.value()), live_costs(view_, moment.value(), sizes_, where_));
    }
    if (request_.has_window()) {
      if (const Result<> added = add_window(); !added) return added.error();
    }
    if (wants(Section::Snapshots) || wants(Section::Deltas) || wants(Section::Cumulative)) return add_marks();
    return Unit{};
  }

  void add(std::string name, std::string title, std::vector<StackCost> costs, Measure measure = Measure::Bytes,
           bool changes = false) {
    request_.filter.apply(view_.names(), costs);
    std::vector<RuntimePool> runtime;
    if (!request_.show_runtime) runtime = RuntimePools(view_.names()).take_from(costs);
    const Cost total = sum_of(costs);
    TreeOptions options = request_.tree;
    options.changes = changes;
    // Blocks of no bytes weigh something all the same.
    const bool any_bytes =
        std::any_of(costs.begin(), costs.end(), [](const StackCost& row) { return row.cost.bytes != 0; });
    options.measure = any_bytes ? measure : Measure::Blocks;
    page_.trees.push_back({std::move(name), std::move(title), std::move(costs), total, options, std::move(runtime)});
  }

  Result<> add_leaks() {
    std::optional<std::size_t> snapshot = snapshot_at_end(view_.tape());
    if (!request_.leaks_at.empty()) {
      const Result<std::size_t> chosen = chosen_snapshot(view_, request_.leaks_at);
      if (!chosen) return chosen.error();
      snapshot = chosen.value();
    }
    if (!snapshot) {
      page_.leaks_hint = how_to_get_leaks(view_);
      if (!request_.leak_wishes.plain() || request_.leak_wishes.holders || request_.needs_leaks)
        return Error{ErrorCode::NotFound, page_.leaks_hint};
      add_kind(CostKind::Leaks);
      return Unit{};
    }
    // The tree of what was live counts them again.
    const Suppressions fresh = request_.suppressions;
    const LeakSelection selection{.suppressions = &request_.suppressions,
                                  .filter = &request_.filter,
                                  .where = where_ != nullptr && where_->matches_everything() ? nullptr : where_};
    Result<LeakReport> leaks = make_leak_report(view_, *snapshot, request_.leak_wishes, selection);
    if (!leaks) return leaks.error();
    page_.leaks = std::move(leaks).value();
    keep_used_suppressions();
    request_.suppressions = fresh;
    add_kind(CostKind::Leaks);
    page_.trees.back().in_text = false;
    add("lost", "Lost", page_.leaks->lost);
    page_.trees.back().in_text = request_.lost_tree;
    return Unit{};
  }

  void add_kind(CostKind kind) {
    std::vector<StackCost> costs = costs_of(view_, kind, sizes_, where_);
    std::string title;
    switch (kind) {
    case CostKind::Leaks:
      title = request_.is_running ? "Live now" : "Still live at the end";
      request_.suppressions.apply(view_.names(), costs);
      // The first page has taken the same leaks out already, and each is to be counted once.
      if (!page_.overview && !page_.leaks) keep_used_suppressions();
      break;
    case CostKind::Peak: {
      const HeapTotals& totals = view_.findings().totals;
      title = "Peak";
      if (totals.peak_event != 0)
        title += " at " + seconds_text(totals.peak_us) + " s, event " + with_separators(totals.peak_event);
      break;
    }
    case CostKind::Allocations: title = "Allocated"; break;
    case CostKind::Temporary: title = "Temporary"; break;
    }
    add(cost_kind_name(kind), title, std::move(costs), measure_of(kind));
  }

  void add_total_peak() {
    const auto& peak = view_.findings().total_peak;
    if (!peak) return add_kind(CostKind::Peak);
    add("total-peak",
        "Heap plus mappings at their peak, at " + seconds_text(peak->time_us) + " s, event " +
            with_separators(peak->event),
        total_peak_costs(view_));
  }

  void add_mappings() {
    const std::optional<MemoryLedger> ledger = memory_ledger_of(view_);
    if (ledger) {
      add("mappings-resident",
          std::string(ledger->from_pages ? "Own mappings, resident" : "Own mappings, open") +
              " at the peak of the resident memory, at " + seconds_text(ledger->time_us) + " s",
          resident_mapping_costs(*ledger));
    }
    std::vector<StackCost> open, mapped;
    for (const StackMappings& row : view_.findings().mappings.by_stack) {
      if (row.open != Cost{}) open.push_back({row.stack, {}, row.open});
      if (row.mapped != Cost{}) mapped.push_back({row.stack, {}, row.mapped});
    }
    add("mappings-open", request_.is_running ? "Mapped now" : "Never unmapped", std::move(open));
    add("mappings-all", "Mapped, ever", std::move(mapped));
  }

  void keep_used_suppressions() {
    page_.suppressions = request_.suppressions.entries();
    std::erase_if(page_.suppressions, [](const Suppression& entry) { return entry.used == Cost{}; });
  }

  Result<> add_cost() {
    if (view_.tape().cpu().samples.empty()) return Error{ErrorCode::NotFound, no_cpu_sentence(view_.tape(), 0)};
    if (view_.tape().event_count() == 0)
      return Error{ErrorCode::NotFound, "there are no heap events on this tape; record without --no-heap"};
    page_.cost = make_allocation_cost(view_, request_.filter);
    return Unit{};
  }

  Result<> add_window() {
    const Result<Moment> from = view_.moment(request_.from.empty() ? "start" : request_.from);
    const Result<Moment> to = view_.moment(request_.to.empty() ? "end" : request_.to);
    if (!from) return from.error();
    if (!to) return to.error();
    if (from.value().event > to.value().event) return Error{ErrorCode::Usage, "--from is later than --to"};
    const std::string between = " between " + moment_text(from.value()) + " and " + moment_text(to.value());
    const bool all = wants(Section::Allocations);
    add("window", all ? "Allocated" + between : "Allocated" + between + " and then still live",
        window_costs(view_, from.value(), to.value(), all ? WindowPart::All : WindowPart::StillLive, sizes_, where_));
    return Unit{};
  }

  Result<> add_marks() {
    const std::vector<Mark> snapshots = snapshots_of(numbered(view_.marks()));
    if (snapshots.empty()) return Error{ErrorCode::Usage, "the program set no marks on this tape"};
    struct Snapshot {
      std::string name;
      std::vector<StackCost> live;
    };
    std::optional<Snapshot> first;
    Snapshot before{"the start", {}};
    for (const Mark& mark : snapshots) {
      const Moment moment{mark.event, mark.time_us, mark.name.empty() ? "" : "'" + printable(mark.name) + "'"};
      Snapshot now{moment.label.empty() ? moment_text(moment) : moment.label,
                   live_costs(view_, moment, sizes_, where_)};
      const std::string name = moment_text(moment);
      const auto add_change = [&](const char* kind, const Snapshot& from) {
        add(kind, "Change at " + name + " since " + from.name, change_of(from.live, now.live), Measure::Bytes, true);
      };
      if (wants(Section::Snapshots)) add("snapshot", "Live at " + name, now.live);
      if (wants(Section::Deltas)) add_change("delta", before);
      if (wants(Section::Cumulative) && first) add_change("cumulative", *first);
      if (!first) first = now;
      before = std::move(now);
    }
    if (wants(Section::Cumulative) && snapshots.size() == 1 && request_.sections.size() == 1)
      return Error{ErrorCode::Usage, "there is one snapshot on this tape, and --cumulative compares with the first; "
                                     "--snapshots shows it"};
    return Unit{};
  }

  const TapeView& view_;
  ReportRequest request_;
  Filter* where_; // null: all blocks
  Sizes sizes_;
  ReportPage page_;
};

} // namespace

Result<ReportPage> make_report(const TapeView& view, ReportRequest request) {
  return ReportMaker(view, std::move(request)).make();
}

} // namespace heaptape
