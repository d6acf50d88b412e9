#include "report/pages/comparison.h"

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/text/change_text.h"
#include "report/text/json_writer.h"

namespace heaptape {
namespace {

const char* kind_text(CostKind kind) {
  switch (kind) {
  case CostKind::Leaks: return "Still live at the end";
  case CostKind::Peak: return "Live at the peak";
  case CostKind::Allocations: return "Allocated";
  case CostKind::Temporary: return "Temporary";
  }
  return "?";
}

std::string moment_label(const Moment& moment) {
  return printable(moment.label) + ", event " + with_separators(moment.event);
}

ComparedSide side(const TapeView& view, std::string label, std::vector<StackCost> costs, FrameFilter& filter) {
  filter.apply(view.names(), costs);
  return {view, std::move(label), std::move(costs)};
}

DiffSide diff_side(const ComparedSide& side) { return {side.view.names(), side.costs}; }

// Beside the rows, so that a change elsewhere is not overlooked.
std::string totals_text(const TapeView& before, const TapeView& after) {
  const HeapTotals &a = before.findings().totals, &b = after.findings().totals;
  std::string out;
  const auto line = [&](const char* name, const std::string& one, const std::string& other, const std::string& change) {
    out += fmt::format("  {:<10}{:>12}  ->{:>12}  {:>12}\n", name, one, other, change);
  };
  const auto bytes = [&](const char* name, std::uint64_t one, std::uint64_t other) {
    line(name, bytes_text(one), bytes_text(other), signed_bytes_text(static_cast<std::int64_t>(other - one)));
  };
  bytes("peak", a.peak_bytes, b.peak_bytes);
  bytes("live", a.live_bytes, b.live_bytes);
  bytes("allocated", a.allocated_bytes, b.allocated_bytes);
  line("calls", with_separators(a.allocated_blocks), with_separators(b.allocated_blocks),
       signed_count_text(static_cast<std::int64_t>(b.allocated_blocks - a.allocated_blocks)));
  return out + "\n";
}

} // namespace

Comparison compare_tapes(const TapeView& before, const TapeView& after, CostKind kind, FrameFilter& filter) {
  return {kind_text(kind), side(before, before.path(), costs_of(before, kind), filter),
          side(after, after.path(), costs_of(after, kind), filter)};
}

Comparison compare_moments(const TapeView& before, const Moment& from, const TapeView& after, const Moment& to,
                           FrameFilter& filter) {
  const bool two_tapes = &before != &after;
  const auto label = [&](const TapeView& view, const Moment& moment) {
    return (two_tapes ? view.path() + ", " : std::string()) + moment_label(moment);
  };
  return {"Live", side(before, label(before, from), live_costs(before, from), filter),
          side(after, label(after, to), live_costs(after, to), filter)};
}

std::string comparison_text(const Comparison& comparison, const DiffText& options) {
  const DiffSide before = diff_side(comparison.before), after = diff_side(comparison.after);
  const Diff changes = make_diff(before, after);
  std::string out;
  const auto line = [&](const std::string& text) {
    out += (options.style.width != 0 ? shortened(text, options.style.width) : text) + "\n";
  };
  line("before  " + printable(comparison.before.label));
  line("after   " + printable(comparison.after.label));
  if (&comparison.before.view != &comparison.after.view)
    out += totals_text(comparison.before.view, comparison.after.view);
  line(fmt::format("{}: {} in {} -> {} in {}", comparison.what, bytes_text(changes.before.bytes),
                   count_of(changes.before.blocks, "block"), bytes_text(changes.after.bytes),
                   count_of(changes.after.blocks, "block")));
  out += diff_text(changes, before, after, options);
  if (changes.rows.empty()) out += "  no stack differs\n";
  return out;
}

std::string comparison_json(const Comparison& comparison) {
  const DiffSide before = diff_side(comparison.before), after = diff_side(comparison.after);
  JsonWriter json;
  json.begin_object().field("compared", std::string_view(comparison.what));
  json.field("from", std::string_view(comparison.before.label)).field("to", std::string_view(comparison.after.label));
  write_diff_json(json, make_diff(before, after), before, after);
  return json.end_object().text() + "\n";
}

} // namespace heaptape
